//! The receiving end of a link: reads the peer's slice of this rank's inbox.

use canele_mem::buffer::InShare;
use canele_mem::chunk_counter::ChunkCounter;
use canele_mem::window::Window;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};

use canele_mem::ring::cells::TakeCell;
use canele_mem::ring::{cells, payload};
use canele_sys::atomic::AtomicU32;
use canele_sys::ids::Rank;
use canele_sys::process_memory::{self, Proof};
use canele_sys::segment::{Mapping, SegmentError};
use canele_sys::sleep;

use super::fetch::SingleCopy;
use super::inbox::Inbox;
use super::layout::InboxLayout;
use super::link::{HAS_BULK, Shared, TELL, TIMED};
use super::pace::Reading;
use crate::{CHUNK_COUNTERS, Corrupt, Header, MAX_INLINE, MAX_INLINE_WITH_BULK, Packet, TakeIf, TryTake};

/// Longest wait for a peer to write a piece that it has taken. A live peer writes it much earlier.
const LONGEST_WRITE: Duration = Duration::from_secs(2);

/// The receiving end of a link.
pub struct Incoming {
    cells: cells::Consumer,
    payload: payload::Consumer,
    shared: Shared,
    sender: Rank,
    /// Announced length of the bulk of the packet polled last.
    bulk: u32,
    reading: Reading,
    /// The sender's sleep word, to wake it when it waits for room.
    sleep: NonNull<AtomicU32>,
    sender_inbox: Inbox,
    /// The proof of the sender's identity, if its memory can be read.
    proof: Option<Proof>,
}

// SAFETY: as for `Outgoing`.
unsafe impl Send for Incoming {}

impl Incoming {
    /// Opens the slice that the arrived `sender` writes. `slice` is a mapping and the start of the slice in
    /// it.
    pub fn open(
        slice: (Arc<Mapping>, usize),
        layout: InboxLayout,
        (sender, sender_inbox): (Rank, &Inbox),
        (rewinds, single_copy): (bool, SingleCopy),
    ) -> Result<Self, SegmentError> {
        let (shared, cells, span) = Shared::new(slice, layout, rewinds)?;
        let shown = sender_inbox.proof().filter(|_| single_copy != SingleCopy::Never);
        let proof = shown.filter(process_memory::can_read);
        if proof.is_some() {
            shared.fetch_times().say_able();
        }
        Ok(Self {
            cells: cells::Consumer::new(cells),
            payload: payload::Consumer::new(span),
            shared,
            sender,
            bulk: 0,
            reading: Reading::default(),
            sleep: NonNull::from(sender_inbox.sleep_word()),
            sender_inbox: sender_inbox.clone(),
            proof,
        })
    }

    /// Returns true if no packet has arrived.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Takes a packet without bulk if `accept` takes it and no room must be reported to the sender
    /// afterwards.
    #[inline(always)]
    pub fn take_short(&mut self, accept: &mut impl TakeIf) -> bool {
        self.cells.take_before_stop(&mut InlineOnly(accept))
    }

    /// Takes a packet without bulk if `accept` takes it.
    #[inline(always)]
    pub fn try_take_inline(&mut self, accept: &mut impl TakeIf) -> bool {
        let inline = self.cells.inline(); // Read before the check, as in `try_take`.
        let cells::Peek::Cell(first, second) = self.cells.peek() else { return false };
        if !InlineOnly(accept).accept(first, second, inline) {
            return false;
        }
        if self.cells.advance(self.shared.cursors()) {
            self.wake_starved();
        }
        true
    }

    /// Takes a packet in one step if `accept` takes it.
    #[inline(always)]
    pub fn try_take(&mut self, accept: &mut impl TakeIf) -> TryTake {
        let inline = self.cells.inline(); // Read before the check: its acquire would force a reload.
        let (first, second) = match self.cells.peek() {
            cells::Peek::Cell(first, second) => (first, second),
            cells::Peek::Empty => {
                self.payload.prefetch_next();
                return TryTake::Nothing;
            }
            cells::Peek::Corrupt(..) => return TryTake::Left,
        };
        let header = header(first, second);
        match inline.part(0, (first >> 24) as u8 as usize) {
            Some(inline) if accept.accept(header, inline, Window::empty()) => {}
            Some(_) => return TryTake::Left,
            None => return self.try_take_bulk(header, (first >> 24) as u8, accept),
        }
        if self.cells.advance(self.shared.cursors()) {
            self.wake_starved();
        }
        TryTake::Taken
    }

    /// Does [`Incoming::try_take`] for a packet with a bulk.
    #[inline(always)]
    fn try_take_bulk(&mut self, header: Header, len: u8, accept: &mut impl TakeIf) -> TryTake {
        let Some((said, bulk)) = self.announced(header, len) else { return TryTake::Left };
        let Ok(window) = self.payload.window(said, length(bulk)) else { return TryTake::Left };
        if len & TIMED != 0 {
            self.reading.begin();
        }
        let inline = self.cells.inline().part(0, header.inline_len as usize);
        if !inline.is_some_and(|inline| accept.accept(header, inline, window)) {
            return TryTake::Left;
        }
        self.bulk = bulk;
        self.release();
        TryTake::Taken
    }

    /// Returns position and announced length of the bulk that a cell names, if they are possible.
    #[inline(always)]
    fn announced(&self, header: Header, len: u8) -> Option<(u32, u32)> {
        let mut note = [0; 8];
        self.cells.inline().read(MAX_INLINE_WITH_BULK, &mut note);
        let note = u64::from_ne_bytes(note);
        let (said, bulk) = (note as u32, (note >> 32) as u32);
        let possible = len & HAS_BULK != 0
            && header.inline_len as usize <= MAX_INLINE_WITH_BULK
            && length(bulk) != 0
            && length(bulk) <= self.shared.layout.max_bulk();
        possible.then_some((said, bulk))
    }

    pub fn poll(&mut self) -> Result<Option<Packet<'_>>, Corrupt> {
        let (first, second) = match self.cells.peek() {
            cells::Peek::Empty => return Ok(None),
            cells::Peek::Cell(first, second) => (first, second),
            cells::Peek::Corrupt(stamp, lap) => return Err(self.bad_stamp(stamp, lap)),
        };
        let (header, len) = (header(first, second), (first >> 24) as u8);
        if len as usize <= MAX_INLINE {
            self.bulk = 0;
            return Ok(Some(Packet {
                header,
                inline: self.cells.inline(),
                bulk: Window::empty(),
                direct_bytes: 0,
            }));
        }
        self.poll_bulk(header, len)
    }

    fn poll_bulk(&mut self, header: Header, len: u8) -> Result<Option<Packet<'_>>, Corrupt> {
        let Some((said, bulk)) = self.announced(header, len) else {
            let beside = header.inline_len;
            return Err(
                self.bad(format_args!("{beside} bytes beside a header, or a bulk of a length that none has"))
            );
        };
        self.bulk = bulk;
        if len & TIMED != 0 {
            self.reading.begin();
        }
        match self.payload.window(said, length(bulk)) {
            Ok(window) => {
                Ok(Some(Packet { header, inline: self.cells.inline(), bulk: window, direct_bytes: 0 }))
            }
            Err(due) => Err(self.bad(format_args!("a bulk at {said:#x} instead of {due:#x}"))),
        }
    }

    #[inline(always)]
    pub fn release(&mut self) {
        let mut told = self.cells.advance(self.shared.cursors());
        if self.bulk != 0 {
            let bulk = std::mem::take(&mut self.bulk);
            told |= self.payload.free(length(bulk), bulk & TELL != 0, self.shared.cursors());
            self.reading.end(self.shared.answer());
        }
        if told {
            self.wake_starved();
        }
    }

    /// Wakes a peer that waits for room, after room was given back.
    #[cold]
    fn wake_starved(&mut self) {
        // SAFETY: the sleep word lies in the sender's inbox, mapped as long as `sender_inbox`.
        let word = unsafe { self.sleep.as_ref() };
        sleep::wake_if_asked(self.shared.wants(), word, self.sender_inbox.event());
    }

    /// Reads a part of a message of `message` bytes from the sender's memory. Returns false if that failed.
    pub fn fetch(&self, from: &[(u64, usize)], message: usize, into: &InShare) -> bool {
        let since = Instant::now();
        let read = self.proof.as_ref().is_some_and(|proof| into.fetch(proof, from));
        if read {
            self.shared.fetch_times().learn(message, into.len(), since.elapsed().as_nanos() as u64);
        }
        read
    }

    /// Ends all copies that both ends share on this link. If peers may write into this process, the call
    /// waits until the sender has written the pieces it took. Afterwards that memory is the caller's alone.
    /// An ended process writes nothing more. The wait for a corrupt or stopped sender is limited to
    /// [`LONGEST_WRITE`].
    pub fn end_shared_copies(&self) {
        let since = Instant::now();
        for index in 0..CHUNK_COUNTERS {
            let chunk_counter = self.chunk_counter(index);
            let stopped = chunk_counter.stop();
            while !chunk_counter.is_quiet(stopped) && since.elapsed() < LONGEST_WRITE {
                if !self.proof.is_some_and(|proof| process_memory::can_read(&proof)) {
                    break;
                }
                std::thread::yield_now();
            }
        }
    }

    pub fn chunk_counter(&self, index: usize) -> &ChunkCounter {
        self.shared.chunk_counter(index)
    }

    #[cold]
    fn bad_stamp(&self, stamp: u16, lap: u16) -> Corrupt {
        self.bad(format_args!("stamp {stamp} in a cell where {lap} or {} is due", lap.wrapping_sub(1)))
    }

    #[cold]
    fn bad(&self, what: std::fmt::Arguments<'_>) -> Corrupt {
        Corrupt(format!("{} wrote {what}: its memory or its program is corrupted", self.sender))
    }
}

/// Accepts cells of packets without bulk.
struct InlineOnly<'a, T>(&'a mut T);

impl<T: TakeIf> cells::TakeCell for InlineOnly<'_, T> {
    #[inline(always)]
    fn accept(&mut self, first: u64, second: u64, inline: Window<'_>) -> bool {
        let inline = inline.part(0, (first >> 24) as u8 as usize);
        inline.is_some_and(|inline| self.0.accept(header(first, second), inline, Window::empty()))
    }
}

/// Returns the length of a bulk from its announcement.
#[inline(always)]
fn length(bulk: u32) -> usize {
    (bulk & !TELL) as usize
}

/// Returns the header in the two words of a cell.
#[inline(always)]
fn header(first: u64, second: u64) -> Header {
    Header {
        kind: (first >> 16) as u8,
        inline_len: (first >> 24) as u8 & !(HAS_BULK | TIMED),
        flow: (first >> 32) as u32,
        tag: second as u32,
        sequence: (second >> 32) as u32,
    }
}
