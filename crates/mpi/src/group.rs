//! Groups: ordered sets of ranks of the job.
//!
//! A group owns the list of its members and a fast way back from a member to its place. It never changes and never asks
//! who is alive; where the standard's calls take ranks, they come as the program gave them and are checked here.

mod ranges;
mod sets;

use std::sync::Arc;

use canele_engine::Rank;
use rustc_hash::FxHashMap;

use crate::session::Derived;
use crate::{Result, fail};
pub use ranges::Range;

/// An ordered set of ranks of the job; a member's place in it is its rank in the group.
#[derive(Clone, Debug)]
pub struct Group {
    members: Vec<Rank>,
    places: Places,
    /// Of the session that the group is derived from.
    session: Option<Arc<Derived>>,
}

/// From a member to its place.
#[derive(Clone, Debug)]
enum Places {
    /// The place times `stride` from `first` on; the stride is not zero.
    Strided { first: i64, stride: i64 },
    /// Whatever the order.
    Listed(FxHashMap<Rank, usize>),
}

/// How two groups compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Comparison {
    /// The same members in the same order.
    Identical,
    /// The same members in another order.
    Similar,
    /// Other members.
    Unequal,
}

impl Group {
    /// The group of these members, in this order.
    ///
    /// # Errors
    /// A member is there twice.
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

    /// The first `size` ranks of the job.
    pub fn first(size: usize) -> Self {
        let size = u32::try_from(size).expect("a job has fewer ranks than fit into 32 bits");
        Self::distinct((0..size).map(Rank))
    }

    /// The ranks of the job of a range.
    pub fn range(ranks: std::ops::Range<u32>) -> Self {
        Self::distinct(ranks.map(Rank))
    }

    /// The group without members.
    pub fn empty() -> Self {
        Self::distinct([])
    }

    /// Of members that are known to be distinct.
    fn distinct(members: impl IntoIterator<Item = Rank>) -> Self {
        Self::new(members.into_iter().collect()).expect("the members are distinct")
    }

    /// The same group, derived from this session.
    pub fn of_session(self, session: Option<Arc<Derived>>) -> Self {
        Self { session, ..self }
    }

    /// The session that the group is derived from, if it is.
    pub fn session(&self) -> Option<&Arc<Derived>> {
        self.session.as_ref()
    }

    /// The number of members.
    pub fn size(&self) -> usize {
        self.members.len()
    }

    /// Whether it has no members.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The place of a rank of the job, if it is a member.
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

    /// The member at a place.
    ///
    /// # Panics
    /// There is no such place.
    #[inline]
    pub fn member(&self, place: usize) -> Rank {
        self.members[place]
    }

    /// All members, in order.
    pub fn members(&self) -> &[Rank] {
        &self.members
    }

    /// The place in `other` of the member with this rank here; `None` if it is not a member there.
    ///
    /// # Errors
    /// There is no such rank here.
    pub fn translate(&self, rank: i32, other: &Group) -> Result<Option<usize>> {
        Ok(other.rank_of(self.members[self.place(rank)?]))
    }

    /// How it compares with another.
    pub fn compare(&self, other: &Group) -> Comparison {
        if self.members == other.members {
            Comparison::Identical
        } else if self.size() == other.size() && self.members.iter().all(|&m| other.rank_of(m).is_some()) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }

    /// A rank as the program gave it, if the group has it.
    fn place(&self, rank: i32) -> Result<usize> {
        match usize::try_from(rank) {
            Ok(place) if place < self.size() => Ok(place),
            _ => fail!(Rank, "rank {rank} is not in a group of {} processes", self.size()),
        }
    }
}

impl Places {
    /// If the members are evenly spaced.
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
