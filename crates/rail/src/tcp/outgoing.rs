//! What a link has to send: packets filled in place or lent, kept until they are acknowledged.
//!
//! Owns the memory of the frames from their claim to their acknowledgement, and the shares of lent bulk. Never writes to a
//! socket: it shows what is unsent and is told how much of it was sent.
//!
//! ```text
//!   memory  │ free │ kept frames … head▸  free  │ skipped │
//! ```
//! Frames are contiguous; one that would not fit before the end begins at the start. Room is counted in packets and in
//! bytes of bulk, lent ones too (invariant I5). The memory holds as many bytes as both together allow, plus what one
//! frame can skip at the end, so a claim that the counts admit always finds its bytes free. Only the newest packet can be
//! unsent in part: the next one is claimed after it has left.

use canele_mem::window::Window;
use std::collections::VecDeque;

use canele_mem::buffer::OutShare;

use super::pace::Pace;
use super::sizes::Sizes;
use super::vectors::Lent;
use super::wire::{self, HEAD, View};
use crate::{Bulk, Busy, Class, Header, MAX_INLINE, MAX_INLINE_WITH_BULK, Slot, UnackedPacket};

/// Of large messages that were not asked for, one in so many is measured and acknowledged at once; the others with what goes the other way.
const MEASURED: u32 = 32;

/// Bytes counted since the link began.
#[derive(Clone, Copy, Default)]
struct Count {
    bulk: u64,
    /// Of these, those of streams.
    stream: u64,
}

/// Where a kept packet is, and what had been counted when it was committed, itself included.
#[derive(Clone, Copy, Default)]
struct FramePlace {
    start: usize,
    count: Count,
}

#[derive(Clone, Copy)]
struct Claimed {
    start: usize,
    bulk: usize,
    class: Class,
}

/// What the socket has not taken of the newest packet.
#[derive(Clone, Copy, Default)]
struct Unsent {
    at: usize,
    end: usize,
    /// Bytes of lent bulk behind these.
    lent: usize,
}

/// From here to the peer.
pub struct Outgoing {
    sizes: Sizes,
    memory: Box<[u8]>,
    /// Where the next frame begins, if it fits there.
    head: usize,
    claimed: Option<Claimed>,
    unsent: Unsent,
    /// The number of the next packet, and of the oldest that is not acknowledged.
    next: u32,
    acknowledged: u32,
    /// By number.
    places: Box<[FramePlace]>,
    committed: Count,
    acknowledged_count: Count,
    /// The lent bulk of kept packets, with their numbers.
    lent: VecDeque<(u32, OutShare)>,
    /// The memory of the newest packet, of which a copy is kept, while part of it is unsent: so its user knows when it has left.
    leaving: Option<OutShare>,
    /// Lent memory was given back, and the request that waits for it was not told.
    given_back: bool,
    /// Large packets that are not of streams.
    large_messages: u32,
    pub pace: Pace,
    /// What was acknowledged when a claim failed. A later claim that succeeds does not end it (invariant I6).
    starved: Option<u32>,
}

impl Outgoing {
    pub fn new(sizes: Sizes) -> Self {
        assert!(sizes.cells.is_power_of_two(), "a power of two of packets");
        Self {
            sizes,
            memory: vec![0; sizes.frames() + sizes.max_frame()].into(),
            head: 0,
            claimed: None,
            unsent: Unsent::default(),
            next: wire::FIRST,
            acknowledged: wire::FIRST,
            places: vec![FramePlace::default(); sizes.cells as usize].into(),
            committed: Count::default(),
            acknowledged_count: Count::default(),
            lent: VecDeque::new(),
            leaving: None,
            given_back: false,
            large_messages: 0,
            pace: Pace::default(),
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

    /// Bytes of bulk that are not acknowledged.
    pub fn under_way(&self) -> u64 {
        self.committed.bulk - self.acknowledged_count.bulk
    }

    /// Whether there is room for a packet. If not, the owner is told when some comes.
    #[inline]
    pub fn admit(&mut self, bulk: usize, class: Class) -> Result<(), Busy> {
        assert!(bulk <= self.sizes.max_bulk(), "a bulk of {bulk} bytes is above the rail's max_bulk");
        let reserve = if class == Class::Control { 0 } else { self.sizes.cells / 8 };
        let has_cell = self.kept() + reserve < self.sizes.cells;
        if has_cell && (bulk == 0 || self.has_room(bulk, class)) {
            return Ok(());
        }
        self.starved.get_or_insert(self.acknowledged);
        Err(Busy)
    }

    fn has_room(&self, bulk: usize, class: Class) -> bool {
        let limit = if class == Class::Stream { self.sizes.payload / 2 } else { self.sizes.payload };
        self.under_way() + bulk as u64 <= limit as u64
            && (class != Class::Stream || self.streamed() <= self.pace.allowance(bulk as u64))
    }

    /// Of the bytes under way, those of streams.
    fn streamed(&self) -> u64 {
        self.committed.stream - self.acknowledged_count.stream
    }

    /// Where a frame of so many bytes begins.
    fn place_for(&mut self, len: usize) -> usize {
        if self.kept() == 0 {
            // Nothing is in the memory: the part of it that is in the cache is used again.
            self.head = 0;
        }
        if self.head + len > self.memory.len() { 0 } else { self.head }
    }

    #[inline]
    pub fn claim(&mut self, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        self.admit(bulk, class)?;
        let beside = wire::beside(MAX_INLINE, bulk);
        let len = HEAD + beside + bulk;
        let start = self.place_for(len);
        self.claimed = Some(Claimed { start, bulk, class });
        let (inline, bulk) = self.memory[start + HEAD..start + len].split_at_mut(beside);
        Ok(Slot { inline: Window::on(inline), bulk: Window::on(bulk) })
    }

    /// What was claimed is unsent from now on.
    #[inline]
    pub fn commit(&mut self, header: Header, ack: u32) {
        let Claimed { start, bulk, class } = self.claimed.take().expect("commit without claim");
        let most = wire::beside(MAX_INLINE, bulk);
        let inline_len = header.inline_len as usize;
        assert!(inline_len <= most, "{inline_len} bytes beside a header");
        let end = start + HEAD + wire::beside(inline_len, bulk) + bulk;
        self.append(header, ack, bulk, class, Unsent { at: start, end, lent: 0 });
    }

    /// What stands before the bulk of the newest packet, of which nothing has left.
    pub fn before_bulk(&self) -> &[u8] {
        &self.memory[self.unsent.at..self.unsent.at + HEAD + MAX_INLINE_WITH_BULK]
    }

    /// Where the bulk of that packet is kept: it may be written after its commit, if it leaves from elsewhere.
    pub fn bulk_mut(&mut self) -> Window<'_> {
        Window::on(&mut self.memory[self.unsent.at + HEAD + MAX_INLINE_WITH_BULK..self.unsent.end])
    }

    /// The user is not given the memory of the newest packet back before all of that has left.
    pub fn hold_until_left(&mut self, bulk: OutShare) {
        self.leaving = self.has_unsent().then_some(bulk);
    }

    /// Sends a packet whose bulk stays where it is.
    pub fn lend(
        &mut self,
        header: Header,
        ack: u32,
        beside: &[u8],
        bulk: impl FnOnce() -> OutShare,
        len: usize,
    ) -> Result<(), Busy> {
        assert!(len > 0, "a packet without bulk lends nothing");
        assert!(beside.len() <= MAX_INLINE_WITH_BULK, "{} bytes beside a header", beside.len());
        assert!(header.inline_len as usize <= beside.len(), "{} bytes beside a header", header.inline_len);
        self.admit(len, Class::Stream)?;
        self.claimed = None;
        let start = self.place_for(HEAD + MAX_INLINE_WITH_BULK);
        let end = start + HEAD + MAX_INLINE_WITH_BULK;
        let inline = &mut self.memory[start + HEAD..end];
        inline[..beside.len()].copy_from_slice(beside);
        inline[beside.len()..].fill(0);
        let share = bulk();
        assert_eq!(share.len(), len, "a share of the length that was said");
        self.lent.push_back((self.next, share));
        self.append(header, ack, len, Class::Stream, Unsent { at: start, end, lent: len });
        Ok(())
    }

    #[inline]
    fn append(&mut self, header: Header, ack: u32, bulk: usize, class: Class, frame: Unsent) {
        debug_assert!(!self.has_unsent(), "one packet after the other");
        let head = self.memory[frame.at..].first_chunk_mut().expect("a claim holds a head");
        wire::write_packet(head, header, bulk as u32, self.next, ack);
        let (is_stream, is_large) = (class == Class::Stream, bulk >= self.sizes.large());
        let is_measured = is_large && (is_stream || self.large_messages.is_multiple_of(MEASURED));
        self.large_messages = self.large_messages.wrapping_add(u32::from(is_large && !is_stream));
        if bulk > 0 && (is_stream || is_measured) {
            wire::mark_prompt(head);
        }
        self.head = frame.end;
        self.unsent = frame;
        let steady = is_stream && self.streamed() > 0;
        self.committed.bulk += bulk as u64;
        if is_stream {
            self.committed.stream += bulk as u64;
        }
        let place = self.place(self.next);
        self.places[place] = FramePlace { start: frame.at, count: self.committed };
        if is_measured {
            self.pace.handle_sent(self.next, self.acknowledged_count.bulk, steady);
        }
        self.next = self.next.wrapping_add(1);
    }

    #[inline]
    fn place(&self, number: u32) -> usize {
        (number & (self.sizes.cells - 1)) as usize
    }

    /// Whether the newest packet has not left, or in part.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        self.unsent.at < self.unsent.end || self.unsent.lent > 0
    }

    /// What is unsent and lies in the link's memory; before what was lent.
    #[inline]
    pub fn unsent(&self) -> &[u8] {
        &self.memory[self.unsent.at..self.unsent.end]
    }

    /// What is unsent and was lent, readable as long as the packet is kept.
    #[inline]
    pub fn unsent_lent(&self) -> Option<Lent<'_>> {
        if self.unsent.lent == 0 {
            return None;
        }
        let (_, share) = self.lent.back().expect("what is unsent is kept");
        Some(Lent { stretches: share.stretches(), skip: share.len() - self.unsent.lent })
    }

    /// So many bytes of it were sent.
    #[inline]
    pub fn handle_sent(&mut self, bytes: usize) {
        let staged = bytes.min(self.unsent.end - self.unsent.at);
        self.unsent.at += staged;
        self.unsent.lent -= bytes - staged;
        if !self.has_unsent() {
            self.given_back |= self.leaving.take().is_some();
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
        let sent = self.kept() - u32::from(self.has_unsent());
        if ack.wrapping_sub(self.acknowledged) > sent {
            return Err(ack);
        }
        self.acknowledged = ack;
        self.acknowledged_count = self.places[self.place(ack.wrapping_sub(1))].count;
        while self.lent.pop_front_if(|(number, _)| is_before(*number, ack)).is_some() {
            self.given_back = true;
        }
        self.pace.handle_ack(ack, self.acknowledged_count.bulk);
        Ok(())
    }

    /// The peer has finished and acknowledges nothing more: nothing is kept for it.
    pub fn give_up_kept(&mut self) {
        self.acknowledged = self.next;
        self.acknowledged_count = self.committed;
        self.unsent = Unsent::default();
        self.given_back |= !self.lent.is_empty() || self.leaving.is_some();
        self.lent.clear();
        self.leaving = None;
    }

    /// True if a claim failed, or lent memory was given back, and the owner has not been told that there is room.
    #[inline]
    pub fn waits_for_room(&self) -> bool {
        self.given_back || self.starved.is_some()
    }

    /// Whether room came since a claim failed, or lent memory was given back. Reported once.
    pub fn room_came(&mut self) -> bool {
        let acknowledged = self.acknowledged;
        let room = self.starved.take_if(|then| *then != acknowledged).is_some();
        std::mem::take(&mut self.given_back) || room
    }

    /// What the peer has not acknowledged, oldest first.
    pub fn into_kept(mut self) -> VecDeque<UnackedPacket> {
        let mut lent = std::mem::take(&mut self.lent).into_iter().peekable();
        let numbers = (0..self.kept()).map(|n| self.acknowledged.wrapping_add(n));
        let keep = |number| {
            let frame = &self.memory[self.places[self.place(number)].start..];
            let view = View::new(frame, self.sizes.max_bulk()).ok().flatten().expect("frames written here");
            let (header, beside) = (view.header(), &frame[HEAD..view.before_bulk()]);
            let bulk = match lent.next_if(|(of, _)| *of == number) {
                Some((_, share)) => Bulk::Lent(share),
                None => Bulk::Copied(frame[view.before_bulk()..view.frame_len()].into()),
            };
            UnackedPacket { number, header, beside: beside.into(), bulk }
        };
        numbers.map(keep).collect()
    }
}

/// Whether a number comes before another. Numbers wrap; those compared are less than half of all apart.
pub fn is_before(number: u32, other: u32) -> bool {
    (number.wrapping_sub(other) as i32) < 0
}

#[cfg(test)]
mod tests;
