//! A chunk counter in shared memory, from which the two ends of one transfer claim pieces, so that either can
//! copy all of them.
//!
//! ```text
//!   pieces   0  1  2  3  4  5  6  7
//!            ├──────▶        ◀──────┤
//!   receiver: the lowest           sender: the highest
//!
//!   claims   ┌ pieces of the receiver 16 │ pieces of the sender 16 │ generation 32 ┐   changed by one compare-and-swap
//!   copied   ┌ pieces that the sender has copied 31 │ failed 1     │ generation 32 ┐   written by the sender
//! ```
//! *Protocol.* Both claims lie in one word, so no piece is claimed twice and no claim is valid for another
//! transfer. The end that claimed a piece copies it at once. The sender counts each piece when it has copied
//! it; the receiver knows its own. The transfer is over when all pieces are claimed and the sender has copied
//! its pieces.
//!
//! - An end that is late or busy claims nothing: the other one claims all pieces.
//! - A sender that cannot write reports that its piece has failed, and claims no more. The receiver then
//!   copies the whole message.
//! - A receiver that gives up claims the rest ([`ChunkCounter::take_rest`]). Then it waits for the sender's
//!   pieces, because until then the sender writes into its memory.
//! - A sender that is stopped during a piece may write it later. So the receiver waits for it, as for any
//!   message of a stopped process. A sender that dies writes no more: the receiver ends the transfer when it
//!   learns of the death.
//! - The sender learns of the receiver's death by its own check and by the notification of deaths. It waits
//!   for no word in this memory.
//! - The owner may withdraw the memory at any time ([`ChunkCounter::stop`]): no piece can be claimed
//!   afterwards.
//!
//! Values written by a peer can make a transfer fail or end early. They never make this process touch memory
//! outside of the message: a claimed piece is checked against the length.

use canele_sys::atomic::{AtomicU64, Ordering};

/// The number of a transfer, which distinguishes it from earlier ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Generation(pub u32);

impl Generation {
    /// The number of no transfer.
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

/// A flag in the word of copied pieces: the sender could not copy a piece.
const FAILED: u64 = 1 << 31;

/// The progress of a transfer, for its receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CopyProgress {
    /// Pieces are left, or the sender copies one.
    Copying,
    /// All pieces are claimed, and the sender has copied its pieces.
    Done,
    /// Neither end copies, and the message is not complete.
    Failed,
}

/// A counter of chunks, in a cache line of its own.
#[repr(C, align(64))]
#[derive(Default)]
pub struct ChunkCounter {
    /// Generation in the high half; then the number of pieces of the sender, and in the lowest bits that of
    /// the receiver.
    claims: AtomicU64,
    /// Generation in the high half; then the failure of the sender, and the number of pieces that it has
    /// copied.
    copied: AtomicU64,
}

/// Returns the numbers of pieces claimed by the receiver and by the sender.
fn taken(claims: u64) -> (u32, u32) {
    ((claims as u16).into(), ((claims >> 16) as u16).into())
}

impl ChunkCounter {
    /// Starts the count for a new transfer. Only the receiver of the transfer calls this, while no transfer
    /// is counted here.
    pub fn start(&self, generation: Generation) {
        self.copied.store(generation.word(), Ordering::Relaxed);
        // Release pairs with the acquire in `claim`: a sender that sees this generation sees `copied` reset.
        self.claims.store(generation.word(), Ordering::Release);
    }

    /// Claims the lowest free piece of `pieces`, for the receiver.
    pub fn take_front(&self, generation: Generation, pieces: u32) -> Option<u32> {
        self.claim(generation, pieces, |_| 1).map(|(front, _)| front)
    }

    /// Claims the highest free piece of `pieces`, for the sender.
    pub fn take_back(&self, generation: Generation, pieces: u32) -> Option<u32> {
        self.claim(generation, pieces, |_| 1 << 16).map(|(_, back)| pieces - 1 - back)
    }

    /// Claims all free pieces for the receiver, so that no further piece is copied.
    pub fn take_rest(&self, generation: Generation, pieces: u32) {
        self.claim(generation, pieces, u64::from);
    }

    /// Adds to the claims the result of `claim` for the number of free pieces, if there are any. Returns the
    /// previous claims.
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

    /// Notes that the sender has copied a piece that it claimed.
    pub fn finish_piece(&self) {
        // Release pairs with the acquire in `progress` and `is_quiet`: a receiver that sees the count sees the bytes.
        self.copied.fetch_add(1, Ordering::Release);
    }

    /// Notes that the sender has claimed a piece and cannot copy it. It claims no more of this transfer.
    pub fn fail_piece(&self) {
        // Release for the reason given in `finish_piece`.
        self.copied.fetch_add(FAILED + 1, Ordering::Release);
    }

    /// Returns the progress of a transfer whose receiver has copied all its pieces.
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
            // The sender claims no more.
            true => CopyProgress::Failed,
            false => CopyProgress::Done,
        }
    }

    /// Ends any transfer that is counted here: no piece can be claimed any more. Returns the claims.
    pub fn stop(&self) -> Stopped {
        // Relaxed: the sender's progress is read with acquire afterwards.
        Stopped(self.claims.swap(Generation::NONE.word(), Ordering::Relaxed))
    }

    /// Returns true if the sender has copied all pieces claimed before the stop, or has failed. A second stop
    /// finds no claims, and does not wait again for those that the first one found.
    pub fn is_quiet(&self, stopped: Stopped) -> bool {
        if Generation::of(stopped.0) == Generation::NONE {
            return true;
        }
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
