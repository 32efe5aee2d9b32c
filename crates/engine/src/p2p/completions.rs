//! Taking the completions of several operations at once, with one entry into the engine.

use canele_proto::Received;
use canele_proto::matching::Want;
use canele_sys::ids::{FlowId, Rank, Tag};

use crate::core::Core;
use crate::engine::Engine;
use crate::lane::spin::spin_once;
use crate::p2p::pending::PendingKind;
use crate::{Completion, Error, Failure, Pending, Status};

impl Engine {
    /// Lets `f` take how several operations have ended, without making progress. `f` must not call the engine.
    ///
    /// # Errors
    /// `Forked`.
    #[inline(always)]
    pub fn completions<R>(&self, f: impl FnOnce(&mut Completions<'_>) -> R) -> Result<R, Error> {
        let mut core = self.lock()?;
        Ok(f(&mut Completions { core: &mut core }))
    }

    /// The same until `f` gives something: makes progress once if it gives nothing, and asks it again if that has moved anything.
    ///
    /// # Errors
    /// `Forked`.
    #[inline]
    pub fn completions_or_poll<R>(
        &self,
        mut f: impl FnMut(&mut Completions<'_>) -> Option<R>,
    ) -> Result<Option<R>, Error> {
        let mut core = self.lock()?;
        if let Some(found) = f(&mut Completions { core: &mut core }) {
            return Ok(Some(found));
        }
        let (mut core, moved) = self.poll_once(core);
        Ok(if moved { f(&mut Completions { core: &mut core }) } else { None })
    }
}

/// The right to take how operations have ended.
pub struct Completions<'a> {
    core: &'a mut Core,
}

impl Completions<'_> {
    /// Whether an operation has ended, its end taken or not.
    #[inline(always)]
    pub fn has_ended(&self, pending: Pending) -> bool {
        pending.has_ended(self.core)
    }

    /// Why an operation may never end though it is under way, as [`Engine::why_pending`].
    #[inline]
    pub fn why_pending(&mut self, pending: Pending) -> Option<Failure> {
        if self.core.lane.proto.deaths().is_empty() {
            return None;
        }
        pending.request().and_then(|id| self.core.lane.proto.why_pending(id))
    }

    /// How an operation has ended; nothing while it is under way.
    pub fn take(&mut self, pending: Pending) -> Option<Completion> {
        pending.take(self.core)
    }

    /// The same; an operation that may never end fails: see [`Engine::why_pending`].
    pub fn take_or_fail(&mut self, pending: Pending) -> Option<Completion> {
        pending.request().map(|id| self.core.lane.proto.fail_pending(id));
        self.take(pending)
    }

    /// True if a rank has died: receives from any source may be in doubt.
    #[inline(always)]
    pub fn any_deaths(&self) -> bool {
        !self.core.lane.proto.deaths().is_empty()
    }

    /// Takes the status of a message that has ended well and whose memory the caller does not want back. One that has failed stays.
    #[inline]
    pub fn take_status(&mut self, pending: Pending) -> Option<Status> {
        match pending.0 {
            PendingKind::Request(id) => self.core.lane.proto.take_status(id),
            PendingKind::Coalesced(send) => self.core.lane.proto.take_coalesced(send)?.result.ok(),
            PendingKind::Collective(_) | PendingKind::Rma(_) => None,
        }
    }

    /// Takes a message from a peer straight from its link, if it is the next there, fits and no receive waits for it; looks a
    /// while. Gives its length.
    #[inline(always)]
    pub fn receive_next(&mut self, flow: FlowId, source: Rank, tag: Tag, into: &mut [u8]) -> Option<usize> {
        let want = Want { source: Some(source), tag: Some(tag) };
        match self.core.lane.try_recv(flow, want, into) {
            Received::Done(status) => Some(status.bytes),
            Received::Nothing => self.receive_soon(flow, want, into),
            Received::NotHere => None,
        }
    }

    #[inline(never)]
    fn receive_soon(&mut self, flow: FlowId, want: Want, into: &mut [u8]) -> Option<usize> {
        match spin_once(self.core, want.source, |core| core.lane.try_recv(flow, want, into)) {
            Received::Done(status) => Some(status.bytes),
            _ => None,
        }
    }
}
