//! Who takes part in the collectives of a flow, and whether all of them are there.
//!
//! Owns the list of members and how far it has been compared with the deaths. Never waits.

use std::sync::Arc;

use canele_sys::ids::Rank;

use canele_proto::Proto;
use canele_proto::request::Failure;

use crate::choose::Seat;

/// The ranks of the job that do a flow's collectives together, in the order in which those count them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Team {
    me: usize,
    members: Arc<[Rank]>,
    local: usize,
}

impl Team {
    /// One group. This rank is member number `me`.
    ///
    /// # Panics
    /// There is no such member.
    pub fn new(me: usize, members: Arc<[Rank]>) -> Self {
        let local = members.len();
        Self::between(me, members, local)
    }

    /// Two groups that work with each other: the first `local` members are this rank's own group. Each side has its own
    /// first; both count the members of a group alike.
    ///
    /// # Panics
    /// This rank's number is not one of its own group, or that is larger than both.
    pub fn between(me: usize, members: Arc<[Rank]>, local: usize) -> Self {
        assert!(me < local && local <= members.len(), "number {me} of {local} among {}", members.len());
        Self { me, members, local }
    }

    /// This rank's number.
    pub fn me(&self) -> usize {
        self.me
    }

    /// All of them, this rank's own group first.
    pub fn members(&self) -> &[Rank] {
        &self.members
    }

    /// How many of them are this rank's own group.
    pub fn local(&self) -> usize {
        self.local
    }

    /// This rank's seat.
    pub fn seat(&self, oversubscribed: bool, shared_buffers: bool) -> Seat {
        Seat { me: self.me, ranks: self.members.len(), local: self.local, oversubscribed, shared_buffers }
    }

    fn contains(&self, rank: Rank) -> bool {
        self.members.contains(&rank)
    }
}

/// Tells whether all members of a team live.
#[derive(Clone, Default)]
pub struct MemberLiveness {
    /// All ranks, if none.
    pub team: Option<Team>,
    /// So many deaths, and pairs that communicate no more, are none of this team.
    deaths: usize,
    splits: usize,
}

impl MemberLiveness {
    /// Of a team, or else all ranks.
    pub fn new(team: Option<Team>) -> Self {
        Self { team, ..Self::default() }
    }

    /// Whether the team is of two groups.
    pub fn is_between(&self) -> bool {
        self.team.as_ref().is_some_and(|team| team.local < team.members.len())
    }

    fn concerns(&self, rank: Rank) -> bool {
        self.team.as_ref().is_none_or(|team| team.contains(rank))
    }

    /// Whether all members live or have finished in good order, and none has cut off another. `splits` are the pairs of ranks
    /// that communicate no more.
    ///
    /// # Errors
    /// The first that does not hold.
    #[inline]
    pub fn check(&mut self, proto: &Proto, splits: &[Failure]) -> Result<(), Failure> {
        if proto.deaths().len() == self.deaths && splits.len() == self.splits {
            return Ok(());
        }
        self.look_for_deaths(proto, splits)
    }

    #[cold]
    fn look_for_deaths(&mut self, proto: &Proto, splits: &[Failure]) -> Result<(), Failure> {
        for rank in &proto.deaths()[self.deaths..] {
            if self.concerns(*rank) {
                return Err(proto.why_gone(*rank).unwrap_or(Failure::PeerFailed(*rank)));
            }
            self.deaths += 1;
        }
        for split in &splits[self.splits..] {
            match split {
                Failure::CutOff { by, of, .. } if !(self.concerns(*by) && self.concerns(*of)) => {}
                split => return Err(split.clone()),
            }
            self.splits += 1;
        }
        Ok(())
    }
}
