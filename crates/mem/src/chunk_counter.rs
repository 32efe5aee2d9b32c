//! A chunk counter in shared memory, from which the two ends of one transfer take pieces, so that either can do all of it.
//!
//! ```text
//!   pieces   0  1  2  3  4  5  6  7
//!            ├──────▶        ◀──────┤
//!   receiver: the lowest           sender: the highest
//!
//!   claims   ┌ pieces of the receiver 16 │ pieces of the sender 16 │ generation 32 ┐   changed by one compare-and-swap
//!   copied   ┌ pieces that the sender has copied 31 │ failed 1     │ generation 32 ┐   written by the sender
//! ```
//! *Protocol.* Both claims lie in one word, so no piece is taken twice and no claim is valid for another transfer. A piece is copied at
//! once by the end that took it. The sender counts each piece when it has copied it; the receiver knows its own. The transfer is over
//! when all pieces are taken and the sender has copied those that it took.
//!
//! - An end that is late or computes takes nothing: the other one takes all.
//! - A sender that cannot write says that its piece has failed, and takes no more. The receiver then copies the whole message.
//! - A receiver that gives up takes what is left ([`ChunkCounter::take_rest`]) and waits for the pieces that the sender has taken, for
//!   until then the sender writes into its memory.
//! - A sender that is stopped with a piece in hand may write it when it goes on, so the receiver waits for it, as for any message of a
//!   stopped process. A sender that dies writes no more: the receiver ends the transfer when it learns of the death.
//! - A receiver that dies is found by the sender's own check, and by the news of its death: the sender waits for no word in this memory.
//! - The memory may be taken from the transfer at any time ([`ChunkCounter::stop`]): no piece can be taken afterwards.
//!
//! What a peer may write here can make a transfer fail or end early. It never makes this process touch memory outside of the
//! message: a taken piece is checked against the length.

use canele_sys::atomic::{AtomicU64, Ordering};

/// Which transfer a chunk counter counts, so that late helpers of an earlier one are told apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Generation(pub u32);

impl Generation {
    /// Of no transfer.
    const NONE: Self = Self(u32::MAX);

    fn of(word: u64) -> Self {
        Self((word >> 32) as u32)
    }

    fn word(self) -> u64 {
        u64::from(self.0) << 32
    }
}

/// The most pieces that a transfer may have.
pub const MOST_PIECES: u32 = u16::MAX as u32;

/// In the word of what is copied: the sender could not copy a piece.
const FAILED: u64 = 1 << 31;

/// How far a transfer is, for its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyProgress {
    /// Pieces are left, or the sender copies one.
    Copying,
    /// All pieces have been taken, and the sender has copied those that it took.
    Done,
    /// Neither end copies, and the message is not complete.
    Failed,
}

/// A counter of chunks, in a cache line of its own.
#[repr(C, align(64))]
#[derive(Default)]
pub struct ChunkCounter {
    /// Generation in the high half; pieces of the sender, and in the lowest bits pieces of the receiver.
    claims: AtomicU64,
    /// Generation in the high half; whether the sender has failed, and pieces that it has copied.
    copied: AtomicU64,
}

/// Pieces taken by the receiver and by the sender.
fn taken(claims: u64) -> (u32, u32) {
    ((claims as u16).into(), ((claims >> 16) as u16).into())
}

impl ChunkCounter {
    /// Starts counting a new transfer. Only the receiver of the transfer does this, and only when no transfer is counted here.
    pub fn start(&self, generation: Generation) {
        self.copied.store(generation.word(), Ordering::Relaxed);
        // Release pairs with the acquire in `claim`: a sender that sees this generation sees `copied` reset.
        self.claims.store(generation.word(), Ordering::Release);
    }

    /// Takes the lowest piece of `pieces` that is left, for the receiver.
    pub fn take_front(&self, generation: Generation, pieces: u32) -> Option<u32> {
        self.claim(generation, pieces, |_| 1).map(|(front, _)| front)
    }

    /// Takes the highest piece of `pieces` that is left, for the sender.
    pub fn take_back(&self, generation: Generation, pieces: u32) -> Option<u32> {
        self.claim(generation, pieces, |_| 1 << 16).map(|(_, back)| pieces - 1 - back)
    }

    /// Takes all pieces that are left, for the receiver, so that none is copied any more.
    pub fn take_rest(&self, generation: Generation, pieces: u32) {
        self.claim(generation, pieces, u64::from);
    }

    /// Adds to the claims what `claim` makes of the number of pieces that are left, if one is; says what was taken before.
    fn claim(&self, generation: Generation, pieces: u32, claim: impl Fn(u32) -> u64) -> Option<(u32, u32)> {
        // Acquire pairs with the release in `start`.
        let mut seen = self.claims.load(Ordering::Acquire);
        loop {
            let (front, back) = taken(seen);
            let left = pieces.min(MOST_PIECES).checked_sub(front + back).filter(|left| *left > 0)?;
            if Generation::of(seen) != generation {
                return None;
            }
            let next = seen + claim(left);
            match self.claims.compare_exchange_weak(seen, next, Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return Some((front, back)),
                Err(now) => seen = now,
            }
        }
    }

    /// Says that the sender has copied a piece that it took.
    pub fn finish_piece(&self) {
        // Release pairs with the acquire in `progress` and `is_quiet`: a receiver that sees the count sees the bytes.
        self.copied.fetch_add(1, Ordering::Release);
    }

    /// Says that the sender has taken a piece and cannot copy it. It takes no more of this transfer.
    pub fn fail_piece(&self) {
        // As in `finish_piece`.
        self.copied.fetch_add(FAILED + 1, Ordering::Release);
    }

    /// How far a transfer is whose receiver has copied all pieces that it took.
    pub fn progress(&self, generation: Generation, pieces: u32) -> CopyProgress {
        // Relaxed: once all pieces are taken, the word does not change before the next `start`, which is the caller's.
        let claims = self.claims.load(Ordering::Relaxed);
        let (front, back) = taken(claims);
        if Generation::of(claims) != generation || front + back > pieces {
            return CopyProgress::Failed; // The peer wrote where it must not.
        }
        // Acquire pairs with the release in `finish_piece`.
        let copied = self.copied.load(Ordering::Acquire);
        let has_failed = copied & FAILED != 0;
        if copied & !FAILED != generation.word() | u64::from(back) || !has_failed && front + back < pieces {
            return CopyProgress::Copying;
        }
        match has_failed {
            // The sender takes no more.
            true => CopyProgress::Failed,
            false => CopyProgress::Done,
        }
    }

    /// Ends what is counted here, whatever it is: no piece can be taken any more. Says what the sender has taken.
    pub fn stop(&self) -> Stopped {
        // Relaxed: what the sender has copied is read with acquire afterwards.
        Stopped(self.claims.swap(Generation::NONE.word(), Ordering::Relaxed))
    }

    /// Whether the sender has copied all pieces that it had taken before the stop, or has failed.
    pub fn is_quiet(&self, stopped: Stopped) -> bool {
        let (_, back) = taken(stopped.0);
        // Acquire pairs with the release in `finish_piece`.
        let copied = self.copied.load(Ordering::Acquire) & !FAILED;
        copied == Generation::of(stopped.0).word() | u64::from(back)
    }
}

/// The claims at the moment of a stop.
#[derive(Clone, Copy, Debug)]
pub struct Stopped(u64);

#[cfg(all(test, not(loom)))]
mod tests;
