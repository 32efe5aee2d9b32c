//! How much a link holds in each direction, and what follows from it.
//!
//! Owns the numbers only. They are the same at both ends, which the handshake compares.

use super::wire::HEAD;
use crate::{MAX_INLINE, MAX_INLINE_WITH_BULK};

/// Bytes of bulk from which on a packet is a large one, where links hold enough.
const LARGE: usize = 16 << 10;

/// About as much as the kernel handles at once.
const BEST: usize = 64 << 10;

/// How much a link holds in each direction. The same at both ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Packets, a power of two.
    pub cells: u32,
    /// Bytes of bulk.
    pub payload: usize,
}

impl Sizes {
    /// The largest bulk of one packet: a quarter of all, and a little less where that is much, so that with what stands before it
    /// it fills segments of loopback, which are a little shorter than 64 KiB, and does not begin one more.
    pub fn max_bulk(self) -> usize {
        let quarter = self.payload / 4;
        quarter - quarter / 512
    }

    /// Bytes of bulk from which on a packet gains nothing by growing.
    pub fn best_packet(self) -> usize {
        (BEST - BEST / 128).min(self.max_bulk())
    }

    /// Bytes of bulk from which on a packet is a large one: it may be received directly, and tells the link's pace.
    pub fn large(self) -> usize {
        LARGE.min(self.payload / 16)
    }

    /// Bytes that the longest frame takes.
    pub fn max_frame(self) -> usize {
        HEAD + MAX_INLINE + self.max_bulk()
    }

    /// Bytes that the frames of a link take at most.
    pub fn frames(self) -> usize {
        self.cells as usize * (HEAD + MAX_INLINE) + self.payload
    }

    /// Bytes that one read takes at most while it is not known where they belong: a packet that is just a large one, not much of a bulk
    /// that will go elsewhere, and many short packets.
    pub fn step(self) -> usize {
        (self.large() + HEAD + MAX_INLINE_WITH_BULK).max(2 * (HEAD + MAX_INLINE))
    }
}
