//! Short messages for a caller that has another path if they cannot go at once: each call does all of its
//! work or changes nothing.
//!
//! They avoid the general path. The calls of one thread take the lock by its bias. A message that goes at
//! once needs no function call, so code that is inlined into a caller needs no frame and saves no registers.
//! If several threads have used a lane there is no bias: further functions, which are calls, take the lock if
//! it is free.

use canele_mem::buffer::RawBlock;
use canele_proto::matching::Want;
use canele_proto::{PeerIndex, Received, ShortAddress, ShortSent};
use canele_sys::ids::{FlowId, Rank, Tag};

use crate::Error;
use crate::core::Core;
use crate::engine::Engine;
use crate::lane::spin::spin_once;
use crate::p2p::deferred::{Deferral, DeferredEnd, DeferredHandles, DeferredSource, SubmittedRecv};

impl Engine {
    /// Returns the place of a peer, and touches it.
    ///
    /// # Errors
    /// `Forked`.
    pub fn peer_index(&self, peer: Rank) -> Result<PeerIndex, Error> {
        Ok(self.lock()?.lane.proto.peer_index(peer))
    }

    /// Sends a message of few bytes if it can go at once; returns `None` if no cell was tried, because this
    /// thread has no bias. If it is left, the caller goes on with [`Engine::send_refused`] or
    /// [`Engine::post_refused`].
    #[inline(always)]
    pub fn try_send_short(&self, to: &ShortAddress, tag: Tag, bytes: &[u8]) -> Option<ShortSent> {
        let mut guard = self.lock_by_bias()?;
        let lane = &mut guard.lane;
        let sent = lane.proto.post_short(&mut lane.rails, to, tag, bytes);
        guard.release();
        Some(sent)
    }

    /// Does [`Engine::try_send_short`] for a thread that has no bias. Returns `None` if another thread has
    /// it, or the lock is not free. A thread with the bias has tried before.
    #[inline(never)]
    pub fn send_without_bias(&self, to: &ShortAddress, tag: Tag, bytes: &[u8]) -> Option<ShortSent> {
        let Some(mut guard) = self.lock_if_free() else {
            return self.is_biased_here().then_some(ShortSent::Left);
        };
        let lane = &mut guard.lane;
        let sent = lane.proto.post_short(&mut lane.rails, to, tag, bytes);
        guard.release();
        Some(sent)
    }

    /// Sends a message that does not fit into a cell if it can go at once, as [`Engine::try_send_short`];
    /// returns true if it has.
    #[inline(never)]
    pub fn send_next(&self, to: &ShortAddress, tag: Tag, bytes: &[u8]) -> bool {
        let Some(mut guard) = self.lock_at_once() else { return false };
        let lane = &mut guard.lane;
        let sent = lane.proto.post_bulk(&mut lane.rails, to, tag, bytes);
        guard.release();
        sent
    }

    /// Wakes a peer after [`ShortSent::ToSleeper`].
    ///
    /// # Errors
    /// `Forked`.
    pub fn wake_peer(&self, peer: PeerIndex) -> Result<(), Error> {
        let mut guard = self.lock()?;
        let lane = &mut guard.lane;
        lane.proto.wake_peer(&mut lane.rails, peer);
        Ok(())
    }

    /// Receives a message of few bytes if it is the next of its source and fits; returns its length.
    #[inline(always)]
    pub fn try_receive_short(&self, from: &ShortAddress, tag: Tag, into: &mut [u8]) -> Option<usize> {
        let mut guard = self.lock_by_bias()?;
        let lane = &mut guard.lane;
        let is_next = !lane.is_closed && !lane.deferred.any() && lane.proto.is_quiet(from.flow);
        let taken = match is_next {
            true => lane.proto.take_short(&mut lane.rails, from, tag, into),
            false => None,
        };
        guard.release();
        taken
    }

    /// Receives a message if it is the next of its source and fits, as [`Engine::try_receive_short`]; returns
    /// its length. It looks as often as between two passes, so that a message that comes meanwhile takes the
    /// short path.
    #[inline(never)]
    pub fn receive_next(&self, source: Rank, flow: FlowId, tag: Tag, into: &mut [u8]) -> Option<usize> {
        let mut guard = self.lock_at_once()?;
        if guard.lane.deferred.any() {
            return None;
        }
        let want = Want { source: Some(source), tag: Some(tag) };
        let mut look = |core: &mut Core| core.lane.try_recv(flow, want, into);
        let seen = match look(&mut guard) {
            Received::Nothing => spin_once(&mut guard, Some(source), look),
            seen => seen,
        };
        match seen {
            Received::Done(status) => Some(status.bytes),
            _ => None,
        }
    }

    /// Defers a receive of a thread that has the bias, if the next slot is free; returns its name.
    #[inline(always)]
    pub fn defer_recv(&self, source: &DeferredSource, tag: Tag, into: RawBlock) -> Option<u32> {
        let mut guard = self.lock_by_bias()?;
        let name = guard.lane.deferred.add(source, tag, into);
        guard.release();
        name
    }

    /// Defers a receive of a thread that may have no bias, if the lock is free and no message waits on the
    /// flow.
    #[inline(never)]
    pub fn defer_otherwise(&self, source: &DeferredSource, tag: Tag, into: RawBlock) -> Deferral {
        let Some(mut guard) = self.lock_at_once() else { return Deferral::NotNow };
        let lane = &mut guard.lane;
        if !lane.proto.is_quiet(source.flow()) {
            return Deferral::NotNow;
        }
        lane.deferred.add_otherwise(source, tag, into).map_or(Deferral::Full, Deferral::Done)
    }

    /// Gives back the names of deferred receives whose callers know their results, and moves to a free slot
    /// if the next one is used. Returns true if there is room then. Deferred receives stay deferred. The
    /// names are kept if the lock is not free.
    pub fn make_room_to_defer(&self, names: &mut Vec<u32>) -> bool {
        let Some(mut guard) = self.lock_at_once() else { return false };
        names.drain(..).for_each(|name| guard.lane.deferred.give_back(name));
        guard.lane.deferred.is_next_free() || guard.lane.deferred.go_to_free()
    }

    /// Ends deferred receives from the first on whose messages have come, as far as these handles are of them
    /// in this order; returns their number.
    #[inline(always)]
    pub fn end_deferred<H: DeferredHandles>(
        &self,
        handles: &mut [H::Handle],
        told: Option<DeferredEnd<'_, '_>>,
    ) -> usize {
        let Some(mut guard) = self.lock_at_once() else { return 0 };
        let ended = guard.end_deferred::<H>(handles, told);
        guard.release();
        ended
    }

    /// Does [`Engine::end_deferred`] for a caller that waits for the first one: looks for its message as
    /// often as between two passes.
    #[inline(never)]
    pub fn end_deferred_soon<H: DeferredHandles>(
        &self,
        handles: &mut [H::Handle],
        mut told: Option<DeferredEnd<'_, '_>>,
    ) -> usize {
        let Some(mut guard) = self.lock_at_once() else { return 0 };
        let source = guard.awaited_source::<H>(handles);
        let mut look = |core: &mut Core| match core.end_deferred::<H>(handles, told.as_deref_mut()) {
            0 => Received::Nothing,
            ended => Received::Done(ended),
        };
        if let Received::Done(ended) = look(&mut guard) {
            return ended;
        }
        match source.map(|source| spin_once(&mut guard, Some(source), look)) {
            Some(Received::Done(ended)) => ended,
            _ => 0,
        }
    }

    /// Submits deferred receives of this lane and passes the result of each to `each`, once. `each` must not
    /// call the engine.
    ///
    /// # Errors
    /// `Forked`.
    pub fn take_submitted(
        &self,
        names: &[u32],
        mut each: impl FnMut(u32, SubmittedRecv),
    ) -> Result<(), Error> {
        let mut core = self.lock()?;
        for name in names {
            if let Some(submitted) = core.take_submitted(*name) {
                each(*name, submitted);
            }
        }
        Ok(())
    }

    /// Submits the deferred receives of this lane and returns the names that [`Engine::take_submitted`] has
    /// not reported.
    ///
    /// # Errors
    /// `Forked`.
    pub fn submitted_names(&self) -> Result<Vec<u32>, Error> {
        Ok(self.lock()?.lane.deferred.submitted())
    }
}
