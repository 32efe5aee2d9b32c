//! Calls of survivors: groups, agreements, revocation, acknowledged deaths.

use std::sync::Arc;

use canele_collective::Words;
use canele_collective::survivors::{Contribution, Decision, Message};
use canele_proto::request::Failure;
use canele_sys::ids::{FlowId, Rank};

use crate::core::Core;
use crate::engine::Engine;
use crate::{Completion, Error, Pending};

impl Engine {
    /// Adds a group that communicates on `flow` and the flow after it, until [`Engine::free_flow`]. Deaths of
    /// its members are reported to receives from any source until they are acknowledged.
    ///
    /// # Errors
    /// `Forked`; the job is over.
    pub fn enter_group(&self, flow: FlowId, members: Arc<[Rank]>) -> Result<(), Error> {
        let mut core = self.lock_to_submit()?;
        core.lane.proto.acknowledge_deaths(flow);
        if core.survivors.enter(flow, members) {
            core.handle_revoked(flow);
        }
        Ok(())
    }

    /// Starts an agreement of the living members of a group. They all call it in one order and with equally
    /// many words, at most 64. The [`decision`](Engine::decision) of its end is the conjunction of the
    /// contributed words, and the ranks without a contribution. The agreement also ends if a member dies
    /// meanwhile, or if the group is revoked.
    ///
    /// # Errors
    /// The group does not exist; `Forked`; the job is over.
    pub fn start_consensus(
        &self,
        flow: FlowId,
        words: Vec<u64>,
        mut acknowledged: Vec<Rank>,
    ) -> Result<Pending, Error> {
        let mut core = self.lock_to_submit()?;
        let Some(members) = core.survivors.groups.get(&flow).cloned() else {
            return Err(Error::Lengths { what: "groups that communicate on this flow", given: 0, needed: 1 });
        };
        core.tell_survivors_of_gone();
        acknowledged.sort_unstable();
        let name = core.survivors.draw(flow);
        let key = core.collectives.add_under_way();
        core.survivors.waiting.insert(name, key);
        let contribution = Contribution { words, failed: Vec::new(), acknowledged };
        core.survivors.consensus.start(name, members, contribution);
        core.settle_survivors();
        Ok(Pending::collective(key).on_lane(self.lane_number()))
    }

    /// Returns the decision of an agreement that has ended.
    pub fn decision(&self, ended: &Completion) -> Option<Decision> {
        let bytes = ended.output.as_ref().filter(|_| ended.result.is_ok())?.bytes();
        let ranks = self.ask(|view| view.ranks()).ok()?;
        match Message::decode(bytes, ranks) {
            Ok(Message::Decided(_, decision)) => Some(decision),
            _ => None,
        }
    }

    /// Revokes a group: operations under way on its flows end with [`Failure::Revoked`] at all members, and
    /// later ones too, except for agreements.
    ///
    /// # Errors
    /// `Forked`; the job is over.
    pub fn revoke(&self, flow: FlowId) -> Result<(), Error> {
        let mut core = self.lock_to_submit()?;
        let Core { survivors, .. } = &mut *core;
        let Some(members) = survivors.groups.get(&flow) else { return Ok(()) };
        if survivors.revocations.revoke(flow, members) {
            core.tell_survivors_of_gone();
            core.handle_revoked(flow);
            core.settle_survivors();
        }
        Ok(())
    }

    /// Returns true if a group is revoked, as far as this rank knows.
    ///
    /// # Errors
    /// `Forked`.
    pub fn is_revoked(&self, flow: FlowId) -> Result<bool, Error> {
        self.ask(|view| view.why_revoked(flow).is_some())
    }

    /// Makes the revocation of `leader` also revoke the group of `flow`, which is a part of it, until
    /// [`Engine::free_flow`].
    ///
    /// # Errors
    /// `Forked`; the job is over.
    pub fn revoke_with(&self, flow: FlowId, leader: FlowId) -> Result<(), Error> {
        let mut core = self.lock_to_submit()?;
        core.survivors.followers.entry(leader).or_default().push(flow);
        if core.lane.proto.why_revoked(leader).is_some() {
            core.handle_revoked(leader);
        }
        Ok(())
    }

    /// Acknowledges the first `deaths` of the known deaths on a flow: they are no longer reported to receives
    /// from any source.
    ///
    /// # Errors
    /// `Forked`; the job is over.
    pub fn acknowledge(&self, flow: FlowId, deaths: usize) -> Result<(), Error> {
        self.lock_to_submit()?.lane.proto.acknowledge(flow, deaths);
        Ok(())
    }

    /// Returns why an operation may never end though it is under way: it receives from any source, and a
    /// death is not acknowledged.
    ///
    /// # Errors
    /// `Forked`.
    pub fn why_pending(&self, pending: Pending) -> Result<Option<Failure>, Error> {
        let mut core = self.lane_of(pending).lock()?;
        Ok(pending.request().and_then(|id| core.lane.proto.why_pending(id)))
    }

    /// Returns the pairs of flows that are free here, in the window of `first`. Members that make a group of
    /// the living ones agree on them.
    ///
    /// # Errors
    /// All flows are in use; `Forked`.
    pub fn free_pairs(&self, first: u32) -> Result<Words, Error> {
        Ok(self.lock()?.collectives.pairs().window(first)?)
    }

    /// Takes a pair of flows that was free at all members, before any of them uses it. Returns false if it is
    /// no longer free.
    ///
    /// # Errors
    /// `Forked`.
    pub fn take_pair(&self, pair: u32) -> Result<bool, Error> {
        let taken = self.lock()?.collectives.pairs().take(pair);
        if taken {
            self.drop_stale(FlowId(2 * pair))?;
        }
        Ok(taken)
    }

    /// Gives a pair of flows back that was taken.
    ///
    /// # Errors
    /// `Forked`.
    pub fn give_pair_back(&self, pair: u32) -> Result<(), Error> {
        self.lock()?.collectives.pairs().free(pair);
        Ok(())
    }
}
