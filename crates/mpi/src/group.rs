//! Groups: ordered sets of ranks of the job.
//!
//! A group owns the list of its members and an index from members to ranks. It never changes and does not
//! track deaths. Ranks that the program passes to standard calls are checked here.

mod ranges;
mod sets;

use std::sync::Arc;

use canele_engine::Rank;
use rustc_hash::FxHashMap;

use crate::session::Derived;
use crate::{Result, fail};
pub use ranges::Range;

/// An ordered set of ranks of the job; a member's index in it is its rank in the group.
#[derive(Clone, Debug)]
pub struct Group {
    members: Vec<Rank>,
    places: Places,
    /// The session from which the group is derived.
    session: Option<Arc<Derived>>,
}

/// The mapping from members to their ranks in the group.
#[derive(Clone, Debug)]
enum Places {
    /// The member of rank `r` is `first` + `r` × `stride`; the stride is not zero.
    Strided { first: i64, stride: i64 },
    /// Members in any order.
    Listed(FxHashMap<Rank, usize>),
}

/// The result of a comparison of two groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// Equal members in equal order.
    Identical,
    /// Equal members in another order.
    Similar,
    /// Different members.
    Unequal,
}

impl Group {
    /// Makes the group of these members, in this order.
    ///
    /// # Errors
    /// Fails if a member occurs twice.
    pub fn new(members: Vec<Rank>) -> Result<Self> {
        let places = match Places::strided(&members) {
            Some(strided) => strided,
            None => {
                let listed: FxHashMap<Rank, usize> = members.iter().copied().zip(0..).collect();
                if listed.len() != members.len() {
                    let twice = members.iter().enumerate().find(|&(place, member)| listed[member] != place);
                    let (place, member) = twice.expect("a member less in the map is there twice in the list");
                    fail!(Group, "member {place} of the group, process {}, is in it twice", member.0);
                }
                Places::Listed(listed)
            }
        };
        Ok(Self { members, places, session: None })
    }

    /// Returns the group of the first `size` ranks of the job.
    pub fn first(size: usize) -> Self {
        let size = u32::try_from(size).expect("a job has fewer ranks than fit into 32 bits");
        Self::distinct((0..size).map(Rank))
    }

    /// Returns the group of a range of ranks of the job.
    pub fn range(ranks: std::ops::Range<u32>) -> Self {
        Self::distinct(ranks.map(Rank))
    }

    /// Returns the group without members.
    pub fn empty() -> Self {
        Self::distinct([])
    }

    /// Makes a group of members that are known to be distinct.
    fn distinct(members: impl IntoIterator<Item = Rank>) -> Self {
        Self::new(members.into_iter().collect()).expect("the members are distinct")
    }

    /// Returns the group as derived from this session.
    pub fn of_session(self, session: Option<Arc<Derived>>) -> Self {
        Self { session, ..self }
    }

    /// Returns the session from which the group is derived, if any.
    pub fn session(&self) -> Option<&Arc<Derived>> {
        self.session.as_ref()
    }

    /// Returns the number of members.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// Returns true if the group has no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the rank in the group of a rank of the job, if it is a member.
    #[inline]
    pub fn rank_of(&self, member: Rank) -> Option<usize> {
        match &self.places {
            Places::Strided { first, stride: 1 } => {
                let place = usize::try_from(i64::from(member.0) - first).ok()?;
                (place < self.members.len()).then_some(place)
            }
            Places::Strided { first, stride } => {
                let from_first = i64::from(member.0) - first;
                let place = usize::try_from(from_first / stride).ok()?;
                (from_first % stride == 0 && place < self.members.len()).then_some(place)
            }
            Places::Listed(places) => places.get(&member).copied(),
        }
    }

    /// Returns the member with a rank of the group.
    ///
    /// # Panics
    /// Panics if there is no such rank.
    #[inline]
    pub fn member(&self, place: usize) -> Rank {
        self.members[place]
    }

    /// Returns all members, in order.
    pub fn members(&self) -> &[Rank] {
        &self.members
    }

    /// Returns the rank in `other` of the member with this rank; `None` if it is not a member of `other`.
    ///
    /// # Errors
    /// Fails if this group has no such rank.
    pub fn translate(&self, rank: i32, other: &Group) -> Result<Option<usize>> {
        Ok(other.rank_of(self.members[self.place(rank)?]))
    }

    /// Compares the group with another one.
    pub fn compare(&self, other: &Group) -> Comparison {
        if self.members == other.members {
            Comparison::Identical
        } else if self.size() == other.size() && self.members.iter().all(|&m| other.rank_of(m).is_some()) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }

    /// Checks a rank that the program passed.
    fn place(&self, rank: i32) -> Result<usize> {
        match usize::try_from(rank) {
            Ok(place) if place < self.size() => Ok(place),
            _ => fail!(Rank, "rank {rank} is not in a group of {} processes", self.size()),
        }
    }
}

impl Places {
    /// Returns the compact form, if the members are evenly spaced.
    fn strided(members: &[Rank]) -> Option<Self> {
        let place = |rank: Rank| i64::from(rank.0);
        let first = members.first().map_or(0, |&m| place(m));
        let stride = members.get(1).map_or(1, |&m| place(m) - first);
        let even = members.windows(2).all(|pair| place(pair[1]) - place(pair[0]) == stride);
        (stride != 0 && even).then_some(Places::Strided { first, stride })
    }
}

#[cfg(test)]
mod tests;
