//! Short messages for a caller that has another way if they cannot go at once: each call either does all or changes nothing.
//!
//! They take the lock by its bias only, without a call, and touch nothing of the general path: what is left of a message is a few dozen
//! instructions. Whoever uses several threads, and so has no bias, takes the other way.

use canele_proto::Receives;
use canele_sys::ids::{FlowId, Rank, Tag};

use crate::engine::Engine;

impl Engine {
    /// Sends a message of few bytes if it can go at once; says whether it has.
    #[inline(never)] // A leaf with registers of its own: a caller keeps its arguments for the other way.
    pub fn send_short(&self, to: Rank, flow: FlowId, tag: Tag, bytes: &[u8]) -> bool {
        let Some(mut guard) = self.lock_by_bias() else { return false };
        let progress = &mut guard.progress;
        let sent = progress.proto.post_short(&mut progress.rails, (to, flow, tag), bytes);
        guard.release();
        sent
    }

    /// Receives a message if it is the next of its source and fits; gives its length.
    #[inline(never)] // As above.
    pub fn receive_short(&self, source: Rank, flow: FlowId, tag: Tag, into: &mut [u8]) -> Option<usize> {
        let mut one = One { tag, into, bytes: None };
        self.receive_run(source, flow, &mut one);
        one.bytes
    }

    /// Lets receives of one source and flow take their messages as long as these are the next ones.
    #[inline(always)]
    pub fn receive_run(&self, source: Rank, flow: FlowId, receives: &mut impl Receives) {
        let Some(mut guard) = self.lock_by_bias() else { return };
        let progress = &mut guard.progress;
        if !progress.is_finished {
            progress.proto.receive_run(&mut progress.rails, (source, flow), receives);
        }
        guard.release();
    }
}

/// A receive that is looked for once.
struct One<'a> {
    tag: Tag,
    into: &'a mut [u8],
    bytes: Option<usize>,
}

impl Receives for One<'_> {
    const ONE: bool = true;

    #[inline(always)]
    fn accept(&mut self, tag: Tag, bytes: usize) -> Option<&mut [u8]> {
        let into = self.into.get_mut(..bytes).filter(|_| tag == self.tag)?;
        self.bytes = Some(bytes);
        Some(into)
    }
}
