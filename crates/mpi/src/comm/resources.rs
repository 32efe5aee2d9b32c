//! Communicators of the members that share a resource (MPI 5.0, §7.4.2).
//!
//! All members exchange the same amount of data, so a member without a part needs no knowledge of the others.
//! If a member requests another division than the first one, the result is empty for all.

use std::sync::Arc;

use canele_engine::WantedLane;

use super::Comm;
use crate::Result;

/// Number of resource kinds of a host, from the largest to the smallest.
pub const KINDS: usize = 7;

/// The division that a member requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Division {
    /// None: the member takes no part.
    Undefined,
    /// By shared memory, that is by host.
    Shared,
    /// By the largest resource that divides the members.
    Unguided,
    /// By a resource on each host: the hash of the resource type's name, and the number of the resource that
    /// this member uses.
    Guided(u64, Option<u32>),
    /// By a property that all hosts share: the hash of the property's name, and this member's number.
    Everywhere(u64, Option<u32>),
}

/// The resource that divided the members in the unguided case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SharedResource {
    /// The host.
    Host,
    /// The resource kind with this number.
    Kind(usize),
}

/// Words of a member's record: its division, its host, its guided number, and the numbers of the kinds.
const WORDS: usize = 3 + KINDS;
const NONE: i64 = -1;

impl Division {
    /// Returns a number that identifies the division.
    fn number(self) -> i64 {
        match self {
            Self::Undefined => NONE,
            Self::Shared => 0,
            Self::Unguided => 1,
            Self::Guided(hash, _) => (hash >> 3 << 1).cast_signed() + 2,
            Self::Everywhere(hash, _) => (hash >> 3 << 1).cast_signed() + 3,
        }
    }
}

impl Comm {
    /// Makes a communicator of the members that share a resource, if there are several resources. Members
    /// that are not restricted to one get none. `kinds` are the numbers of the resources to which this
    /// process is restricted.
    ///
    /// # Errors
    /// Fails if a member died.
    pub fn split_by_resource(
        &self,
        division: Division,
        kinds: [Option<u32>; KINDS],
        key: i32,
    ) -> Result<(Option<Arc<Comm>>, Option<SharedResource>)> {
        self.check_call("MPI_Comm_split_type")?;
        // A host is identified by its first member, since jobs number hosts differently.
        let on_host = |rank: &canele_engine::Rank| !self.engine.is_remote(*rank);
        let host = self.group().members().iter().position(on_host).unwrap_or(self.rank()) as i64;
        let or_none = |number: Option<u32>| number.map_or(NONE, i64::from);
        let (place, guide) = match division {
            Division::Guided(_, guide) => (host, guide),
            Division::Everywhere(_, guide) => (0, guide),
            Division::Shared => (host, Some(0)),
            Division::Undefined | Division::Unguided => (host, None),
        };
        let mut mine = vec![division.number(), place, or_none(guide)];
        mine.extend(kinds.map(or_none));
        let all = self.numbers_of_all(&mine)?;
        let all: Vec<&[i64]> = all.chunks_exact(WORDS).filter(|member| member[0] != NONE).collect();
        let alike = all.iter().all(|member| member[0] == all[0][0]);
        let (groups, found) = match division {
            _ if !alike => (Vec::new(), None),
            Division::Unguided => unguided(&all, self.all_members().size()),
            _ => {
                (all.iter().map(|member| (member[2] != NONE).then(|| (member[1], member[2]))).collect(), None)
            }
        };
        // The color is the rank of the first member with the same resource.
        let own = all.iter().position(|member| **member == *mine).and_then(|at| *groups.get(at)?);
        let own = own.filter(|_| division != Division::Undefined);
        let color = own.and_then(|own| groups.iter().position(|group| *group == Some(own)));
        let made = self.split_by_color(color.map(|color| color as u32), key, |comm| {
            comm.new_flow_on_lanes(WantedLane::Next)
        })?;
        let found = found.filter(|_| made.is_some());
        Ok((made, found))
    }
}

/// The resource of each member, if any.
type Groups = Vec<Option<(i64, i64)>>;

/// Returns the largest kind of resource that divides the members, and the resource of each member.
fn unguided(all: &[&[i64]], members: usize) -> (Groups, Option<SharedResource>) {
    let of = |word: Option<usize>| -> Groups {
        let resource = |member: &&[i64]| match word {
            None => Some((member[1], 0)),
            Some(word) => (member[word] != NONE).then(|| (member[1], member[word])),
        };
        all.iter().map(resource).collect()
    };
    let divides = |groups: &Groups| {
        let largest = groups
            .iter()
            .flatten()
            .map(|one| groups.iter().flatten().filter(|other| *other == one).count())
            .max();
        largest.is_some_and(|largest| largest < members)
    };
    let candidates = std::iter::once((None, SharedResource::Host))
        .chain((0..KINDS).map(|n| (Some(3 + n), SharedResource::Kind(n))));
    let mut divided = candidates.map(|(word, found)| (of(word), found)).filter(|(groups, _)| divides(groups));
    match divided.next() {
        Some((groups, found)) => (groups, Some(found)),
        None => (Vec::new(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(host: i64, kinds: [i64; KINDS]) -> Vec<i64> {
        [&[1, host, NONE][..], &kinds].concat()
    }

    #[test]
    fn members_are_divided_by_the_largest_resource_that_divides_them() {
        let members = |list: &[(i64, [i64; KINDS])]| {
            let all: Vec<Vec<i64>> = list.iter().map(|(host, kinds)| member(*host, *kinds)).collect();
            let all: Vec<&[i64]> = all.iter().map(|member| &member[..]).collect();
            unguided(&all, all.len())
        };
        let near = [0, 0, 0, 1, 1, 1, 1];
        let far = [0, 0, 0, 2, 2, 2, 2];
        assert_eq!(members(&[(0, near), (1, near)]).1, Some(SharedResource::Host));
        let (groups, found) = members(&[(0, near), (0, far), (0, near)]);
        assert_eq!(found, Some(SharedResource::Kind(3)));
        assert_eq!(groups, [Some((0, 1)), Some((0, 2)), Some((0, 1))]);
        let loose = [NONE; KINDS];
        assert_eq!(members(&[(0, loose), (0, loose)]).1, None);
        let (groups, found) = members(&[(0, loose), (0, near)]);
        assert_eq!((groups, found), (vec![None, Some((0, 0))], Some(SharedResource::Kind(0))));
        assert_eq!(members(&[(0, near), (0, near)]).1, None);
    }
}
