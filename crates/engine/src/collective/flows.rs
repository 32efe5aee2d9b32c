//! New flows: all members agree on a number that none of them uses, and may give it back.
//!
//! Flow numbers are pairs: one of the users' messages, and one of their collectives. A number is
//! proposed if it is free everywhere, taken, and kept only if no other thread of a member took it meanwhile.

use std::sync::Arc;

use canele_sys::ids::{FlowId, Tag};

use canele_collective::{
    FIRST_PAIR, Kernel, Operation, Reduction, Shape, Team, WINDOW, WINDOW_PAIRS, conjunction, first_of,
};

use super::State;
use crate::Error;
use crate::core::Core;
use crate::engine::Engine;
use crate::lanes::WantedLane;

/// The bit, beyond those of lanes, by which a member asks for a flow on each lane.
const EACH: u64 = 1 << 32;

/// The most passes that take waiting packets before a flow is used anew.
const MOST_PASSES: usize = 100;

impl Engine {
    /// Makes a flow that is new on all members of the flow of collectives `parent`, which all call this. The
    /// next number is the flow of its collectives; it has no team yet.
    ///
    /// # Errors
    /// Those of [`Engine::collective`]; all flows are in use.
    pub fn create_flow(&self, parent: FlowId) -> Result<FlowId, Error> {
        self.create_flow_for(self, parent)
    }

    /// Does [`Engine::create_flow`] on another lane of the members, or on each of several lanes. Lanes are
    /// opened if need be. Returns this rank's lanes, at least one, each with its flow.
    ///
    /// # Errors
    /// Those of [`Engine::create_flow`].
    pub fn create_flows_on_lanes(
        self: &Arc<Self>,
        parent: FlowId,
        wanted: WantedLane,
    ) -> Result<Vec<(Arc<Self>, FlowId)>, Error> {
        let mut made = Vec::new();
        for number in self.agree_on_lanes(parent, wanted)? {
            let lane = self.open_lane(number);
            match self.create_flow_for(&lane, parent) {
                Ok(flow) => made.push((lane, flow)),
                Err(error) => {
                    // The first error counts.
                    let _ = made.into_iter().try_for_each(|(lane, flow)| lane.free_flow(flow));
                    return Err(error);
                }
            }
        }
        Ok(made)
    }

    /// Returns true if all members of the flow of collectives `parent`, which all call this, want their flows
    /// on lanes. If no rank can have several lanes, the answer costs no message.
    ///
    /// # Errors
    /// Those of [`Engine::collective`].
    pub fn all_want_lanes(&self, parent: FlowId, wants: bool) -> Result<bool, Error> {
        Ok(self.may_have_lanes(parent)? && self.conjunction_of_all(parent, wants.into())? == 1)
    }

    /// Returns the lanes that all members of `parent` want and have opened, or the first alone. Of several
    /// the one whose turn it is comes first.
    fn agree_on_lanes(self: &Arc<Self>, parent: FlowId, wanted: WantedLane) -> Result<Vec<u8>, Error> {
        if !self.may_have_lanes(parent)? {
            return Ok(vec![0]);
        }
        let (next, offered) = self.offer_lanes(parent, Some(wanted))?;
        Ok(self.agreed_lanes(next, self.conjunction_of_all(parent, offered)?))
    }

    /// Returns the lane whose turn it is, and the lanes that this rank offers for a new flow of the members
    /// of `parent`. It has opened these. All members form the conjunction of the bits.
    pub(super) fn offer_lanes(
        self: &Arc<Self>,
        parent: FlowId,
        wanted: Option<WantedLane>,
    ) -> Result<(u8, u64), Error> {
        // The lane is counted in every case, so that members that want different lanes count alike.
        let next = self.next_lane(parent)?;
        let most = self.most_lanes();
        let (lanes, each) = match wanted {
            None => (0..0, 0),
            Some(WantedLane::Next) => (next..next + 1, 0),
            Some(WantedLane::Numbered(number)) => {
                let number = (number % u32::from(most)) as u8;
                (number..number + 1, 0)
            }
            Some(WantedLane::Each) => (0..most, EACH),
        };
        let opened = lanes.filter(|number| self.opens_lane(*number)).fold(1, |all, number| all | 1 << number);
        Ok((next, opened | each))
    }

    /// Returns the lanes that all members have offered in these bits: the one whose turn it is comes first.
    pub(super) fn agreed_lanes(&self, next: u8, agreed: u64) -> Vec<u8> {
        if agreed & EACH == 0 {
            return vec![agreed.ilog2() as u8];
        }
        let in_turn = (next..self.most_lanes()).chain(0..next);
        in_turn.filter(|number| agreed & 1 << number != 0).collect()
    }

    /// Returns the conjunction of the bits of all members of `parent`.
    fn conjunction_of_all(&self, parent: FlowId, mine: u64) -> Result<u64, Error> {
        let mut agreed = [0];
        let all = |shape, and: &_, mine: &_, agreed: &mut _| {
            self.collective(parent, shape, Some(and), mine, agreed)
        };
        conjunction_by(all, &[mine], &mut agreed)?;
        Ok(agreed[0])
    }

    /// Makes a flow on another lane that is new on all members of the flow of collectives `parent` of this
    /// one.
    fn create_flow_for(&self, lane: &Self, parent: FlowId) -> Result<FlowId, Error> {
        lane.agree(|shape, and, mine, agreed| self.collective(parent, shape, Some(and), mine, agreed))
    }

    /// Agrees on a flow among the members of any team, which alone call it, with messages on `flow` that all
    /// have `tag`. Each exchange begins after the one before, and messages with one tag keep their order.
    ///
    /// # Errors
    /// Those of [`Engine::create_flow`].
    pub fn agree_among(&self, team: &Team, (flow, tag): (FlowId, Tag)) -> Result<FlowId, Error> {
        self.agree(|shape, and, mine, agreed| {
            self.collective_among(team, (flow, tag), shape, Some(and), mine, agreed)
        })
    }

    /// Frees a flow and that of its collectives, with all messages that were not received there. No operation
    /// is under way on either, nor will be.
    ///
    /// # Errors
    /// `Forked`; the job is over.
    pub fn free_flow(&self, flow: FlowId) -> Result<(), Error> {
        self.drop_team(FlowId(flow.0 | 1))?;
        let mut core = self.lock()?;
        core.lane.proto.drop_flow(flow);
        let Core { survivors, collectives, membership, lane, .. } = &mut *core;
        for flow in survivors.leave(flow, &mut collectives.pairs) {
            if membership.forget_revocation(flow) {
                lane.proto.drop_flow(flow);
                lane.proto.drop_flow(FlowId(flow.0 + 1));
            }
        }
        core.drop_messages_of_kept_flows();
        Ok(())
    }

    /// Gives the collectives of a flow a team, and counts them anew.
    ///
    /// # Errors
    /// The job does not have a member; the job is over.
    pub fn set_team(&self, flow: FlowId, team: Team) -> Result<(), Error> {
        self.change_team(flow, team, true)
    }

    /// Gives the collectives of a flow a team, and keeps the count of those called before.
    ///
    /// # Errors
    /// Those of [`Engine::set_team`].
    pub fn name_team(&self, flow: FlowId, team: Team) -> Result<(), Error> {
        self.change_team(flow, team, false)
    }

    fn change_team(&self, flow: FlowId, team: Team, anew: bool) -> Result<(), Error> {
        team.members().iter().try_for_each(|rank| self.check_rank(*rank))?;
        let is_of_one_job = self.are_of_this_job(team.members())?;
        let (mut core, mut state) = self.begin(flow)?;
        let new = State { is_of_one_job, ..State::new(flow, Some(team), Tag(0)) };
        *state = match (anew, *state) {
            (true, _) => new,
            (false, State { calls, started, children, .. }) => State { calls, started, children, ..new },
        };
        self.give_back(&mut core, flow, state);
        Ok(())
    }

    /// Forgets the team of a flow, and all messages that were not received there.
    ///
    /// # Errors
    /// `Forked`; the job is over.
    pub fn drop_team(&self, flow: FlowId) -> Result<(), Error> {
        let (mut core, _state) = self.begin(flow)?;
        self.forget(&mut core, flow);
        core.lane.proto.drop_flow(flow);
        Ok(())
    }

    /// Drops messages that came on a flow before it was free everywhere. A member that did not know of a
    /// failure may have sent them after this one freed the flow. All members have sent those before they
    /// report that the flow is free. No rank sends on the new flow before all have taken it. Over several
    /// networks such a message may come later, and is not found here.
    pub(crate) fn drop_stale(&self, flow: FlowId) -> Result<(), Error> {
        for _ in 0..MOST_PASSES {
            if !self.poll()? {
                break;
            }
        }
        let mut core = self.lock()?;
        for flow in [flow, FlowId(flow.0 | 1)] {
            core.lane.proto.drop_unexpected(flow);
        }
        Ok(())
    }

    /// Agrees on a flow of this lane; `all` gives each member the conjunction of the words of all.
    fn agree(
        &self,
        mut all: impl FnMut(Shape, &Reduction, &[u8], &mut [u8]) -> Result<(), Error>,
    ) -> Result<FlowId, Error> {
        let mut first = FIRST_PAIR;
        loop {
            let mut agreed = [0; WINDOW];
            // The lock is free again before the conjunction begins.
            let free = self.lock()?.collectives.pairs.window(first)?;
            conjunction_by(&mut all, &free, &mut agreed)?;
            let begin = first / WINDOW_PAIRS * WINDOW_PAIRS;
            let Some(pair) = first_of(begin, &agreed) else {
                first = begin + WINDOW_PAIRS;
                continue;
            };
            let taken = self.take_pair(pair)?;
            let result = conjunction_by(&mut all, &[u64::from(taken)], &mut agreed[..1]);
            if result.is_ok() && agreed[0] == 1 {
                return Ok(FlowId(2 * pair));
            }
            if taken {
                self.lock()?.collectives.pairs.free(pair);
            }
            result?;
            first = pair + 1;
        }
    }
}

/// Computes the conjunction of the words of all members; `all` reduces them.
fn conjunction_by(
    mut all: impl FnMut(Shape, &Reduction, &[u8], &mut [u8]) -> Result<(), Error>,
    mine: &[u64],
    agreed: &mut [u64],
) -> Result<(), Error> {
    let shape = Shape { element: 8, ..Shape::new(Operation::Allreduce, 8 * mine.len()) };
    let and = Reduction::from(conjunction as Kernel);
    all(shape, &and, bytemuck::cast_slice(mine), bytemuck::cast_slice_mut(agreed))
}
