//! The members of the collectives of a flow, and their liveness.
//!
//! Owns the list of members, and the number of deaths that it has been compared with. Never waits.

use std::sync::Arc;

use canele_sys::ids::{FlowId, Rank};

use canele_proto::Proto;
use canele_proto::request::Failure;

use crate::choose::Seat;

/// The ranks of the job that do a flow's collectives together, in the order in which they count themselves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Team {
    me: usize,
    members: Arc<[Rank]>,
    local: usize,
}

impl Team {
    /// Makes a team of one group. This rank is member number `me`.
    ///
    /// # Panics
    /// There is no such member.
    pub fn new(me: usize, members: Arc<[Rank]>) -> Self {
        let local = members.len();
        Self::between(me, members, local)
    }

    /// Makes a team of two groups that work with each other: the first `local` members are this rank's own
    /// group. Each side lists its own group first; both sides count the members of a group alike.
    ///
    /// # Panics
    /// This rank's number is not one of its own group, or that is larger than both.
    pub fn between(me: usize, members: Arc<[Rank]>, local: usize) -> Self {
        assert!(me < local && local <= members.len(), "number {me} of {local} among {}", members.len());
        Self { me, members, local }
    }

    /// Returns this rank's number.
    pub fn me(&self) -> usize {
        self.me
    }

    /// Returns all members, this rank's own group first.
    pub fn members(&self) -> &[Rank] {
        &self.members
    }

    /// Returns the number of members of this rank's own group.
    pub fn local(&self) -> usize {
        self.local
    }

    /// Returns this rank's seat, under the conditions of another seat of the job.
    pub fn seat(&self, conditions: Seat) -> Seat {
        Seat { me: self.me, ranks: self.members.len(), local: self.local, ..conditions }
    }

    fn contains(&self, rank: Rank) -> bool {
        self.members.contains(&rank)
    }
}

/// The check that all members of a team live.
#[derive(Clone, Default)]
pub struct MemberLiveness {
    /// The team; `None` means all ranks.
    pub team: Option<Team>,
    /// The flow of its collectives, which identifies a group that may be revoked.
    flow: Option<FlowId>,
    /// The number of deaths, and of split pairs, that were checked and are none of this team.
    deaths: usize,
    splits: usize,
}

impl MemberLiveness {
    /// Makes the check for a team, or else all ranks, whose collectives have this flow.
    pub fn new(flow: FlowId, team: Option<Team>) -> Self {
        Self { team, flow: Some(flow), ..Self::default() }
    }

    /// Returns true if the team is of two groups.
    pub fn is_between(&self) -> bool {
        self.team.as_ref().is_some_and(|team| team.local < team.members.len())
    }

    fn concerns(&self, rank: Rank) -> bool {
        self.team.as_ref().is_none_or(|team| team.contains(rank))
    }

    /// Returns true if `flow` is that of the group, or the one before it.
    fn is_on(&self, flow: FlowId) -> bool {
        self.flow.is_some_and(|own| own.0 | 1 == flow.0 | 1)
    }

    /// Checks that all members live or have finished in good order, and that none has cut off another or
    /// revoked the group. `splits` are the pairs of ranks that communicate no more, and the groups that are
    /// revoked.
    ///
    /// # Errors
    /// The first failed condition.
    #[inline]
    pub fn check(&mut self, proto: &Proto, splits: &[Failure]) -> Result<(), Failure> {
        if proto.deaths().len() == self.deaths && splits.len() == self.splits {
            return Ok(());
        }
        self.look_for_deaths(proto, splits)
    }

    #[cold]
    fn look_for_deaths(&mut self, proto: &Proto, splits: &[Failure]) -> Result<(), Failure> {
        // For a revoked group with dead members the revocation is reported: it is the members' reaction to
        // deaths.
        let is_revoked = |split: &&Failure| matches!(split, Failure::Revoked { flow } if self.is_on(*flow));
        if let Some(revoked) = splits[self.splits..].iter().find(is_revoked) {
            return Err(revoked.clone());
        }
        for rank in &proto.deaths()[self.deaths..] {
            if self.concerns(*rank) {
                return Err(proto.why_gone(*rank).unwrap_or(Failure::PeerFailed(*rank)));
            }
            self.deaths += 1;
        }
        for split in &splits[self.splits..] {
            match split {
                Failure::CutOff { by, of, .. } if !(self.concerns(*by) && self.concerns(*of)) => {}
                Failure::Revoked { flow } if !self.is_on(*flow) => {}
                split => return Err(split.clone()),
            }
            self.splits += 1;
        }
        Ok(())
    }
}
