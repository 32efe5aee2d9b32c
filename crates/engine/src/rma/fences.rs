//! Fences: they confirm that the puts to a peer are in its memory.
//!
//! Owns the count of puts with a notice, and the fences that a thread waits for. A put without a notice is
//! complete on return, so it is not counted here.

use std::time::Instant;

use rustc_hash::FxHashMap;

use canele_sys::atomic::{Ordering, fence};
use canele_sys::ids::Rank;

use crate::Error;
use crate::core::Core;
use crate::engine::Engine;
use crate::lane::awaited::Awaited;

/// Puts to one peer.
#[derive(Clone, Copy, Default)]
struct Puts {
    issued: u64,
    confirmed: u64,
}

/// The puts to all peers, and the fences under way.
#[derive(Default)]
pub(crate) struct Fences {
    /// The last target of a put, apart from the others: most puts go to the same peer.
    recent: (Option<Rank>, Puts),
    puts: FxHashMap<Rank, Puts>,
    under_way: Vec<Fence>,
    last: u64,
}

/// A fence that a thread waits for.
struct Fence {
    peer: Rank,
    number: u64,
    is_answered: bool,
}

impl Fences {
    #[inline]
    fn puts_to(&mut self, peer: Rank) -> &mut Puts {
        if Some(peer) != self.recent.0 {
            self.turn_to(peer);
        }
        &mut self.recent.1
    }

    #[inline(never)]
    fn turn_to(&mut self, peer: Rank) {
        if let (Some(before), puts) = self.recent {
            self.puts.insert(before, puts);
        }
        self.recent = (Some(peer), self.puts.get(&peer).copied().unwrap_or_default());
    }

    /// Counts a put that a fence has to confirm.
    #[inline]
    pub fn count_put(&mut self, peer: Rank) {
        self.puts_to(peer).issued += 1;
    }

    /// Returns the number of puts that a fence begun now confirms, if there are any that are not confirmed.
    pub fn unconfirmed(&mut self, peer: Rank) -> Option<u64> {
        let Puts { issued, confirmed } = *self.puts_to(peer);
        (confirmed < issued).then_some(issued)
    }

    /// Notes the answer to a fence that began after this many puts.
    pub fn confirm(&mut self, peer: Rank, issued: u64) {
        let puts = self.puts_to(peer);
        puts.confirmed = puts.confirmed.max(issued);
    }

    /// Begins a fence; returns its number.
    fn begin(&mut self, peer: Rank) -> u64 {
        self.last += 1;
        self.under_way.push(Fence { peer, number: self.last, is_answered: false });
        self.last
    }

    /// Handles a peer's answer. An answer without a waiting thread is dropped.
    pub fn handle_answer(&mut self, peer: Rank, number: u64) {
        let asked = |fence: &&mut Fence| fence.peer == peer && fence.number == number;
        if let Some(fence) = self.under_way.iter_mut().find(asked) {
            fence.is_answered = true;
        }
    }

    fn is_answered(&self, number: u64) -> bool {
        self.under_way.iter().any(|fence| fence.number == number && fence.is_answered)
    }

    /// Ends a fence, answered or given up.
    fn end(&mut self, number: u64) {
        self.under_way.retain(|fence| fence.number != number);
    }
}

impl Engine {
    /// Waits until all puts to `peer` so far are in its memory.
    ///
    /// # Errors
    /// The peer is gone; the deadline passed; a rank of another host refused a put with a notice since the
    /// last fence. The error names the first such put.
    pub fn fence(&self, peer: Rank, deadline: Option<Instant>) -> Result<(), Error> {
        self.check_rank(peer)?;
        let mut core = self.lock_to_submit()?;
        let issued = match core.rma.fences.unconfirmed(peer) {
            Some(issued) if peer != core.lane.proto.me() => issued,
            _ => {
                // Copies into mapped regions are complete; let nothing overtake them.
                fence(Ordering::SeqCst);
                return Ok(());
            }
        };
        if !core.maps_memory_of(peer) {
            return self.fence_remote(core, peer, issued, deadline);
        }
        let inner = &mut *core;
        let number = inner.rma.fences.begin(peer);
        if let Err(failure) = inner.lane.proto.submit_fence(&mut inner.lane.rails, peer, number) {
            inner.rma.fences.end(number);
            return Err(failure.into());
        }
        let ready = |core: &mut Core| match core.rma.fences.is_answered(number) {
            true => Some(Ok(())),
            false => core.lane.proto.why_gone(peer).map(|failure| Err(Error::from(failure))),
        };
        let (mut core, result) =
            self.wait_before(core, deadline, Awaited::Other("what was put to be there", Some(peer)), ready);
        core.rma.fences.end(number);
        if let Some(Ok(())) = result {
            core.rma.fences.confirm(peer, issued);
        }
        result.unwrap_or_else(|| Err(Error::Deadline(format!("{peer} to confirm what was put there"))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: Rank = Rank(3);

    #[test]
    fn a_fence_confirms_the_puts_before_it_and_no_later_ones() {
        let mut fences = Fences::default();
        assert_eq!(fences.unconfirmed(PEER), None);
        fences.count_put(PEER);
        fences.count_put(PEER);
        let before = fences.unconfirmed(PEER).expect("two puts");
        fences.count_put(PEER);
        fences.confirm(PEER, before);
        let all = fences.unconfirmed(PEER).expect("one put is not confirmed");
        fences.confirm(PEER, all);
        assert_eq!(fences.unconfirmed(PEER), None);
        assert_eq!(fences.unconfirmed(Rank(4)), None);
    }

    #[test]
    fn an_earlier_fence_that_is_answered_late_takes_nothing_back() {
        let mut fences = Fences::default();
        fences.count_put(PEER);
        fences.count_put(PEER);
        fences.confirm(PEER, 2);
        fences.confirm(PEER, 1);
        assert_eq!(fences.unconfirmed(PEER), None);
    }

    #[test]
    fn an_answer_counts_only_from_the_peer_that_was_asked_while_a_thread_waits() {
        let mut fences = Fences::default();
        let number = fences.begin(PEER);
        fences.handle_answer(Rank(4), number);
        assert!(!fences.is_answered(number));
        fences.handle_answer(PEER, number);
        assert!(fences.is_answered(number));
        fences.end(number);
        for number in 0..100 {
            fences.handle_answer(PEER, number);
        }
        assert!(fences.under_way.is_empty(), "a peer's answers take no memory");
    }
}
