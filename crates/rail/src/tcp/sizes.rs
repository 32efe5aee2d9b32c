//! The capacity of a link in each direction, and the sizes derived from it.
//!
//! Owns the numbers only. They are equal at both ends, which the handshake checks.

use super::wire::HEAD;
use crate::{MAX_INLINE, MAX_INLINE_WITH_BULK};

/// Bytes of bulk from which on a packet is large, if links hold enough.
const LARGE: usize = 16 << 10;

/// Approximate number of bytes that the kernel handles at once.
const BEST: usize = 64 << 10;

/// The capacity of a link in each direction, equal at both ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Packets, a power of two.
    pub cells: u32,
    /// Bytes of bulk.
    pub payload: usize,
}

impl Sizes {
    /// Returns the largest bulk of one packet: a quarter of the capacity, minus a little. With the bytes
    /// before it, such a bulk fills segments of loopback, slightly shorter than 64 KiB, without starting
    /// another one.
    pub fn max_bulk(self) -> usize {
        let quarter = self.payload / 4;
        quarter - quarter / 512
    }

    /// Returns the bytes of bulk above which larger packets are no more efficient.
    pub fn best_packet(self) -> usize {
        (BEST - BEST / 128).min(self.max_bulk())
    }

    /// Returns the bytes of bulk from which on a packet is large: it may be received directly, and it
    /// measures the link's pace.
    pub fn large(self) -> usize {
        LARGE.min(self.payload / 16)
    }

    /// Returns the length of the longest frame in bytes.
    pub fn max_frame(self) -> usize {
        HEAD + MAX_INLINE + self.max_bulk()
    }

    /// Returns the largest number of bytes of all frames of a link.
    pub fn frames(self) -> usize {
        self.cells as usize * (HEAD + MAX_INLINE) + self.payload
    }

    /// Returns the most bytes of one read while their destination is unknown. They hold a packet that is just
    /// large, little of a bulk that will be received directly, and many short packets.
    pub fn step(self) -> usize {
        (self.large() + HEAD + MAX_INLINE_WITH_BULK).max(2 * (HEAD + MAX_INLINE))
    }
}
