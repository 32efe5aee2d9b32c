//! Groups made from groups: by set operations, and by lists of ranks.

use canele_engine::Rank;

use super::Group;
use crate::{Result, fail};

impl Group {
    /// Returns the members of this group, followed by those of `other` that are not in it.
    pub fn union(&self, other: &Group) -> Group {
        let added = other.members.iter().filter(|&&m| self.rank_of(m).is_none());
        let session = self.session.clone().or_else(|| other.session.clone());
        Group::distinct(self.members.iter().chain(added).copied()).of_session(session)
    }

    /// Returns the members of this group that are also in `other`.
    pub fn intersection(&self, other: &Group) -> Group {
        self.part(self.members.iter().copied().filter(|&m| other.rank_of(m).is_some()))
    }

    /// Returns the members of this group that are not in `other`.
    pub fn difference(&self, other: &Group) -> Group {
        self.part(self.members.iter().copied().filter(|&m| other.rank_of(m).is_none()))
    }

    /// Returns the members with these ranks, in the order of the list.
    ///
    /// # Errors
    /// Fails if a rank is not in the group or is listed twice.
    pub fn incl(&self, ranks: &[i32]) -> Result<Group> {
        self.listed(ranks)?;
        Ok(self.part(ranks.iter().map(|&rank| self.members[rank as usize])))
    }

    /// Returns the members without these ranks, in the order of the group.
    ///
    /// # Errors
    /// Fails if a rank is not in the group or is listed twice.
    pub fn excl(&self, ranks: &[i32]) -> Result<Group> {
        let listed = self.listed(ranks)?;
        let rest = self.members.iter().zip(listed).filter(|&(_, listed)| !listed);
        Ok(self.part(rest.map(|(&member, _)| member)))
    }

    /// Returns a group of some members, derived from the same session.
    fn part(&self, members: impl IntoIterator<Item = Rank>) -> Group {
        Group::distinct(members).of_session(self.session.clone())
    }

    /// Checks a list of ranks; returns for each member whether it is listed.
    fn listed(&self, ranks: &[i32]) -> Result<Vec<bool>> {
        let mut listed = vec![false; self.size()];
        for (index, &rank) in ranks.iter().enumerate() {
            if std::mem::replace(&mut listed[self.place(rank)?], true) {
                fail!(Rank, "ranks[{index}] is {rank}, which is listed twice; list each rank once");
            }
        }
        Ok(listed)
    }
}
