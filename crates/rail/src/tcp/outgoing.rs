//! The output of a link: packets filled in place or lent, kept until they are acknowledged.
//!
//! Owns the memory of frames from claim to acknowledgement, and the shares of lent bulk. Never writes to a
//! socket: it shows unsent bytes and is told how many of them were sent.
//!
//! ```text
//!   memory  │ free │ kept frames … head▸  free  │ skipped │
//! ```
//! Frames are contiguous; one that does not fit before the end begins at the start. Room is counted in
//! packets and in bytes of bulk, including lent bulk (invariant I5). The memory holds the bytes that both
//! limits allow, plus the bytes that one frame can skip at the end. So a claim that the counts admit always
//! finds its bytes free. Only the newest packet can be partly unsent: the next one is claimed after it has
//! left.

use canele_mem::window::Window;
use std::collections::VecDeque;

use canele_mem::buffer::OutShare;

use super::pace::Pace;
use super::sizes::Sizes;
use super::vectors::Lent;
use super::wire::{self, HEAD, View};
use crate::{Bulk, Busy, Class, Header, MAX_INLINE, MAX_INLINE_WITH_BULK, Slot, UnackedPacket};

/// Of this many large packets that are not of streams, one is measured and acknowledged at once. The others
/// are acknowledged with packets of the other direction.
const MEASURED: u32 = 32;

/// Bytes counted since the link was made.
#[derive(Clone, Copy, Default)]
struct Count {
    bulk: u64,
    /// Bytes of streams among them.
    stream: u64,
}

/// The position of a kept packet, and the counts at its commit, including itself.
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

/// The part of the newest packet that the socket has not taken.
#[derive(Clone, Copy, Default)]
struct Unsent {
    at: usize,
    end: usize,
    /// Bytes of lent bulk after these.
    lent: usize,
}

/// The sending end of a link.
pub struct Outgoing {
    sizes: Sizes,
    memory: Box<[u8]>,
    /// The start of the next frame, if it fits there.
    head: usize,
    claimed: Option<Claimed>,
    unsent: Unsent,
    /// Numbers of the next packet, and of the oldest unacknowledged one.
    next: u32,
    acknowledged: u32,
    /// Indexed by packet number.
    places: Box<[FramePlace]>,
    committed: Count,
    acknowledged_count: Count,
    /// The lent bulk of kept packets, with their numbers.
    lent: VecDeque<(u32, OutShare)>,
    /// The user's memory of the newest packet, held while part of the packet is unsent. A copy is kept as
    /// well: the return of this memory only tells the user that the packet has left.
    leaving: Option<OutShare>,
    /// True if lent memory was given back and the waiting request was not notified.
    given_back: bool,
    /// Number of large packets that are not of streams.
    large_messages: u32,
    pub pace: Pace,
    /// The acknowledged packet number when a claim failed. A later claim that succeeds does not clear it
    /// (invariant I6).
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

    /// Returns the number of kept packets.
    #[inline]
    pub fn kept(&self) -> u32 {
        self.next.wrapping_sub(self.acknowledged)
    }

    /// Returns the number of the next packet.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Returns the number of unacknowledged bytes of bulk.
    pub fn under_way(&self) -> u64 {
        self.committed.bulk - self.acknowledged_count.bulk
    }

    /// Succeeds if there is room for a packet. Otherwise the owner is notified of room later.
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

    /// Returns the bytes of streams among those under way.
    fn streamed(&self) -> u64 {
        self.committed.stream - self.acknowledged_count.stream
    }

    /// Returns the start of a frame of `len` bytes.
    fn place_for(&mut self, len: usize) -> usize {
        if self.kept() == 0 {
            // The memory is empty: the part of it that is in the cache is used again.
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

    /// Makes the claimed packet the unsent one.
    #[inline]
    pub fn commit(&mut self, header: Header, ack: u32) {
        let Claimed { start, bulk, class } = self.claimed.take().expect("commit without claim");
        let most = wire::beside(MAX_INLINE, bulk);
        let inline_len = header.inline_len as usize;
        assert!(inline_len <= most, "{inline_len} bytes beside a header");
        let end = start + HEAD + wire::beside(inline_len, bulk) + bulk;
        self.append(header, ack, bulk, class, Unsent { at: start, end, lent: 0 });
    }

    /// Returns the bytes before the bulk of the newest packet, of which nothing has left.
    pub fn before_bulk(&self) -> &[u8] {
        &self.memory[self.unsent.at..self.unsent.at + HEAD + MAX_INLINE_WITH_BULK]
    }

    /// Returns the kept copy of the newest packet's bulk. It may be written after the commit if the bulk
    /// leaves from other memory.
    pub fn bulk_mut(&mut self) -> Window<'_> {
        Window::on(&mut self.memory[self.unsent.at + HEAD + MAX_INLINE_WITH_BULK..self.unsent.end])
    }

    /// Holds the user's memory of the newest packet until all of the packet has left.
    pub fn hold_until_left(&mut self, bulk: OutShare) {
        self.leaving = self.has_unsent().then_some(bulk);
    }

    /// Sends a packet without copying its bulk.
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

    /// Returns true if the newest packet is unsent, whole or in part.
    #[inline]
    pub fn has_unsent(&self) -> bool {
        self.unsent.at < self.unsent.end || self.unsent.lent > 0
    }

    /// Returns the unsent bytes in the link's memory, which precede lent bytes.
    #[inline]
    pub fn unsent(&self) -> &[u8] {
        &self.memory[self.unsent.at..self.unsent.end]
    }

    /// Returns the unsent lent bytes, readable as long as the packet is kept.
    #[inline]
    pub fn unsent_lent(&self) -> Option<Lent<'_>> {
        if self.unsent.lent == 0 {
            return None;
        }
        let (_, share) = self.lent.back().expect("what is unsent is kept");
        Some(Lent { stretches: share.stretches(), skip: share.len() - self.unsent.lent })
    }

    /// Notes that `bytes` bytes were sent.
    #[inline]
    pub fn handle_sent(&mut self, bytes: usize) {
        let staged = bytes.min(self.unsent.end - self.unsent.at);
        self.unsent.at += staged;
        self.unsent.lent -= bytes - staged;
        if !self.has_unsent() {
            self.given_back |= self.leaving.take().is_some();
        }
    }

    /// Releases all packets before number `ack`.
    ///
    /// # Errors
    /// Fails if one of these packets was not sent; then nothing has changed.
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

    /// Releases all kept packets, because the peer has finished and acknowledges nothing more.
    pub fn give_up_kept(&mut self) {
        self.acknowledged = self.next;
        self.acknowledged_count = self.committed;
        self.unsent = Unsent::default();
        self.given_back |= !self.lent.is_empty() || self.leaving.is_some();
        self.lent.clear();
        self.leaving = None;
    }

    /// Returns true if a claim failed or lent memory was given back, and the owner was not notified yet.
    #[inline]
    pub fn waits_for_room(&self) -> bool {
        self.given_back || self.starved.is_some()
    }

    /// Returns true if room was returned since a claim failed, or lent memory was given back. It reports this
    /// once.
    pub fn room_came(&mut self) -> bool {
        let acknowledged = self.acknowledged;
        let room = self.starved.take_if(|then| *then != acknowledged).is_some();
        std::mem::take(&mut self.given_back) || room
    }

    /// Returns the unacknowledged packets, oldest first.
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

/// Returns true if a number comes before another. Numbers wrap; both are less than half of the range apart.
pub fn is_before(number: u32, other: u32) -> bool {
    (number.wrapping_sub(other) as i32) < 0
}

#[cfg(test)]
mod tests;
