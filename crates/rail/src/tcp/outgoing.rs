//! What a link has to send: packets filled in place, kept until they are acknowledged.
//!
//! Owns the memory of the frames from their claim to their acknowledgement. Never writes to a socket: it shows what is
//! unsent and is told how much of it was sent.
//!
//! ```text
//!   memory  │ frames … head▸  free  │ sent▸ frames … ▸turn │ skipped │
//! ```
//! Frames are contiguous; one that would not fit before the end begins at the start. Room is counted in packets and in
//! bytes of bulk (invariant I8). The memory holds as many bytes as both together allow, plus what one frame can skip at the
//! end, so a claim that the counts admit always finds its bytes free.

use super::wire::{self, HEAD};
use crate::{Busy, Class, Header, MAX_INLINE, MAX_INLINE_WITH_BULK, Slot, Window};

/// How much a link holds in each direction. The same at both ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sizes {
    /// Packets, a power of two.
    pub cells: u32,
    /// Bytes of bulk.
    pub payload: usize,
}

impl Sizes {
    /// The largest bulk of one packet.
    pub fn max_bulk(self) -> usize {
        self.payload / 4
    }

    /// Bytes that the longest frame takes.
    pub fn max_frame(self) -> usize {
        HEAD + self.max_bulk() + MAX_INLINE
    }

    /// Bytes that the frames of a link take at most.
    pub fn frames(self) -> usize {
        self.cells as usize * (HEAD + MAX_INLINE) + self.payload
    }
}

/// What had been counted when a packet was committed, that packet included.
#[derive(Clone, Copy, Default)]
struct Count {
    bytes: u64,
    bulk: u64,
}

#[derive(Clone, Copy)]
struct Claimed {
    start: usize,
    bulk: usize,
}

/// From here to the peer.
pub struct Outgoing {
    sizes: Sizes,
    memory: Box<[u8]>,
    /// Where the next frame begins, if it fits there.
    head: usize,
    /// Where what is unsent begins.
    sent: usize,
    /// Where frames end before the head went back to the start, until what is unsent begins at the start too.
    turn: Option<usize>,
    claimed: Option<Claimed>,
    /// The number of the next packet, and of the oldest that is not acknowledged.
    next: u32,
    acknowledged: u32,
    /// By number.
    counts: Box<[Count]>,
    committed: Count,
    bytes_sent: u64,
    bulk_acknowledged: u64,
    /// What was acknowledged when a claim failed. A later claim that succeeds does not end it (invariant I12).
    starved: Option<u32>,
}

impl Outgoing {
    pub fn new(sizes: Sizes) -> Self {
        assert!(sizes.cells.is_power_of_two(), "a power of two of packets");
        Self {
            sizes,
            memory: vec![0; sizes.frames() + sizes.max_frame()].into(),
            head: 0,
            sent: 0,
            turn: None,
            claimed: None,
            next: wire::FIRST,
            acknowledged: wire::FIRST,
            counts: vec![Count::default(); sizes.cells as usize].into(),
            committed: Count::default(),
            bytes_sent: 0,
            bulk_acknowledged: 0,
            starved: None,
        }
    }

    /// Packets that are kept.
    #[inline]
    pub fn kept(&self) -> u32 {
        self.next.wrapping_sub(self.acknowledged)
    }

    /// The number of the next packet.
    pub fn next(&self) -> u32 {
        self.next
    }

    #[inline]
    pub fn claim(&mut self, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        assert!(bulk <= self.sizes.max_bulk(), "a bulk of {bulk} bytes is above the rail's max_bulk");
        let reserve = if class == Class::Control { 0 } else { self.sizes.cells / 8 };
        let limit = if class == Class::Stream { self.sizes.payload / 2 } else { self.sizes.payload };
        let bulk_kept = self.committed.bulk - self.bulk_acknowledged;
        let fits = self.kept() + reserve < self.sizes.cells
            && (bulk == 0 || bulk_kept + bulk as u64 <= limit as u64);
        if !fits {
            self.starved.get_or_insert(self.acknowledged);
            return Err(Busy);
        }
        if self.kept() == 0 && self.unsent().is_empty() {
            // Nothing is in the memory: the part of it that is in the cache is used again.
            (self.head, self.sent) = (0, 0);
        }
        let inline = if bulk == 0 { MAX_INLINE } else { MAX_INLINE_WITH_BULK };
        let len = HEAD + bulk + inline;
        let start = if self.head + len > self.memory.len() { 0 } else { self.head };
        self.claimed = Some(Claimed { start, bulk });
        let (bulk, inline) = self.memory[start + HEAD..start + len].split_at_mut(bulk);
        Ok(Slot { inline: Window::on(inline), bulk: Window::on(bulk) })
    }

    /// Appends what was claimed to what is unsent.
    #[inline]
    pub fn commit(&mut self, header: Header, ack: u32) {
        let Claimed { start, bulk } = self.claimed.take().expect("commit without claim");
        let most = if bulk == 0 { MAX_INLINE } else { MAX_INLINE_WITH_BULK };
        assert!(header.inline_len as usize <= most, "{} bytes beside a header", header.inline_len);
        let head = self.memory[start..].first_chunk_mut().expect("a claim holds a head");
        wire::write_packet(head, header, bulk as u32, self.next, ack);
        if start != self.head {
            debug_assert!(self.turn.is_none(), "what is kept turns once at most");
            if self.sent == self.head {
                self.sent = 0;
            } else {
                self.turn = Some(self.head);
            }
        }
        let len = HEAD + bulk + header.inline_len as usize;
        self.head = start + len;
        self.committed.bytes += len as u64;
        self.committed.bulk += bulk as u64;
        self.counts[self.place(self.next)] = self.committed;
        self.next = self.next.wrapping_add(1);
    }

    #[inline]
    fn place(&self, number: u32) -> usize {
        (number & (self.sizes.cells - 1)) as usize
    }

    /// The oldest stretch of what is unsent; when it was sent, there may be another.
    #[inline]
    pub fn unsent(&self) -> &[u8] {
        &self.memory[self.sent..self.turn.unwrap_or(self.head)]
    }

    /// So many bytes of it were sent.
    #[inline]
    pub fn handle_sent(&mut self, bytes: usize) {
        self.sent += bytes;
        self.bytes_sent += bytes as u64;
        if self.turn == Some(self.sent) {
            (self.sent, self.turn) = (0, None);
        }
    }

    /// All packets before number `ack` are no longer needed.
    ///
    /// # Errors
    /// So many were not sent: nothing has changed.
    #[inline]
    pub fn handle_ack(&mut self, ack: u32) -> Result<(), u32> {
        if ack == self.acknowledged {
            return Ok(());
        }
        let count = self.counts[self.place(ack.wrapping_sub(1))];
        if ack.wrapping_sub(self.acknowledged) > self.kept() || count.bytes > self.bytes_sent {
            return Err(ack);
        }
        self.acknowledged = ack;
        self.bulk_acknowledged = count.bulk;
        Ok(())
    }

    /// Whether room came since a claim failed. Reported once.
    pub fn room_came(&mut self) -> bool {
        let acknowledged = self.acknowledged;
        self.starved.take_if(|then| *then != acknowledged).is_some()
    }
}

#[cfg(test)]
mod tests;
