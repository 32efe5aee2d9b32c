//! A chunk counter in shared memory, from which two processes take the pieces of one transfer, so that either can do it alone.
//!
//! One word holds a generation and the next piece to take, so that a late helper of an earlier transfer takes nothing
//! of a later one; a second word counts the pieces that are done. What a peer may write there can make a transfer fail
//! or end early, and never makes this process touch memory outside of it: a taken piece is checked against the length.

use canele_sys::atomic::{AtomicU64, Ordering};

/// Which transfer a chunk counter counts, so that late helpers of an earlier one are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Generation(pub u32);

/// A counter of chunks, in a cache line of its own.
#[repr(C, align(64))]
#[derive(Default)]
pub struct ChunkCounter {
    /// Generation in the high half, next piece in the low half.
    next: AtomicU64,
    /// Generation in the high half, pieces done in the low half.
    done: AtomicU64,
}

impl ChunkCounter {
    /// Starts counting a new transfer. Only the receiver of the transfer does this, and only when no transfer is counted here.
    pub fn start(&self, generation: Generation) {
        let fresh = u64::from(generation.0) << 32;
        self.done.store(fresh, Ordering::Relaxed);
        // Release pairs with the acquire in `take`: a helper that sees this generation sees `done` reset.
        self.next.store(fresh, Ordering::Release);
    }

    /// Takes a piece below `pieces`, if one is left.
    pub fn take(&self, generation: Generation, pieces: u32) -> Option<u32> {
        // Acquire pairs with the release in `start`.
        let mut seen = self.next.load(Ordering::Acquire);
        loop {
            let piece = seen as u32;
            if (seen >> 32) as u32 != generation.0 || piece >= pieces {
                return None;
            }
            match self.next.compare_exchange_weak(seen, seen + 1, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Some(piece),
                Err(now) => seen = now,
            }
        }
    }

    /// Says that a taken piece has been copied.
    pub fn finish_piece(&self) {
        // Release pairs with the acquire in `finished`: a rank that sees the count sees the bytes.
        self.done.fetch_add(1, Ordering::Release);
    }

    /// Whether all `pieces` have been copied.
    pub fn finished(&self, generation: Generation, pieces: u32) -> bool {
        // Acquire pairs with the release in `finish_piece`.
        self.done.load(Ordering::Acquire) == u64::from(generation.0) << 32 | u64::from(pieces)
    }
}
