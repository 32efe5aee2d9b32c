//! Taking the ends of several operations at once, with one entry into the engine.

use canele_proto::Received;
use canele_sys::ids::{FlowId, Rank, Tag};
use canele_sys::relax;

use crate::core::Core;
use crate::engine::Engine;
use crate::requests::Under;
use crate::tagged::LOOKS_PER_PASS;
use crate::{Ended, Error, Pending, Status};

impl Engine {
    /// Lets `f` take how several operations have ended, without making progress. `f` must not call the engine.
    ///
    /// # Errors
    /// `Forked`.
    #[inline(always)]
    pub fn taking<R>(&self, f: impl FnOnce(&mut Taking<'_>) -> R) -> Result<R, Error> {
        let mut core = self.enter()?;
        Ok(f(&mut Taking { core: &mut core }))
    }
}

/// The right to take how operations have ended.
pub struct Taking<'a> {
    core: &'a mut Core,
}

impl Taking<'_> {
    /// How an operation has ended; nothing while it is under way.
    pub fn take(&mut self, pending: Pending) -> Option<Ended> {
        pending.take(self.core)
    }

    /// What a message got that has ended well and whose memory nobody wants back. One that has failed stays.
    #[inline]
    pub fn take_status(&mut self, pending: Pending) -> Option<Status> {
        match pending.0 {
            Under::Request(id) => self.core.proto.take_status(id),
            Under::Gathered(ticket) => self.core.proto.take_gathered(ticket)?.result.ok(),
            Under::Collective(_) => None,
        }
    }

    /// Takes a message from a peer straight from its link, if it is the next there, fits and no receive waits for it; looks a
    /// while. Gives its length.
    #[inline(always)]
    pub fn receive_next(&mut self, flow: FlowId, source: Rank, tag: Tag, into: &mut [u8]) -> Option<usize> {
        match self.core.look(flow, source, tag, into) {
            Received::Done(bytes) => Some(bytes),
            Received::Nothing if !self.core.habits.crowded => self.watch(flow, source, tag, into),
            _ => None,
        }
    }

    #[inline(never)]
    fn watch(&mut self, flow: FlowId, source: Rank, tag: Tag, into: &mut [u8]) -> Option<usize> {
        for _ in 0..LOOKS_PER_PASS {
            relax::between_looks();
            match self.core.look(flow, source, tag, into) {
                Received::Done(bytes) => return Some(bytes),
                Received::Nothing => {}
                Received::NotHere => return None,
            }
        }
        None
    }
}
