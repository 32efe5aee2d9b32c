//! The two directions of a link: [`Outgoing`] writes this rank's slice of the peer's inbox, [`Incoming`] reads the
//! peer's slice of this rank's inbox.

use std::ptr::NonNull;

use canele_sys::atomic::{AtomicU32, AtomicU64};
use canele_sys::ids::Rank;
use canele_sys::membarrier::Fencing;
use canele_sys::ring::{Cursors, cells, payload};
use canele_sys::segment::SegmentError;
use canele_sys::sleep;

use super::inbox::Inbox;
use super::pace::{Pace, Reading, Way};
use crate::{
    Accept, Busy, Class, Corrupt, Glance, Header, MAX_INLINE, MAX_INLINE_WITH_BULK, Packet, Slot, TALLIES,
    Tally, Window,
};

/// In the length byte of a cell: a bulk lies in the payload ring.
const HAS_BULK: u8 = 0x80;
/// And: the sender wants to know how long it takes to be read.
const TIMED: u8 = 0x40;
/// Nothing is claimed.
const NOTHING: usize = usize::MAX;

/// The words of a slice that both sides use.
struct Shared {
    cursors: NonNull<Cursors>,
    wants: NonNull<AtomicU32>,
    answer: NonNull<AtomicU64>,
    tallies: NonNull<Tally>,
    inbox: Inbox,
}

impl Shared {
    /// The slice of `sender` in `inbox`, and its rings.
    fn new(
        inbox: &Inbox,
        sender: Rank,
        rewinds: bool,
    ) -> Result<(Self, cells::Cells, payload::Span), SegmentError> {
        let (layout, segment) = (inbox.layout, inbox.segment());
        let slice = layout.slice(sender.0 as usize);
        let base = segment.at(slice.cells, layout.cells * 64, 64)?;
        // SAFETY: bounds and alignment were checked by `at`; `inbox`, kept in `Shared`, keeps the slice mapped; each
        // side makes one role, and no other rank uses this slice.
        let cells = unsafe { cells::Cells::new(base.cast(), layout.cells) };
        let base = segment.at(slice.payload, layout.payload, 64)?;
        // SAFETY: as above.
        let span = unsafe { payload::Span::new(base, layout.payload) };
        let span = if rewinds { span.rewinding() } else { span };
        let shared = Self {
            cursors: segment.at(slice.cursors, 64, 64)?.cast(),
            wants: segment.at(slice.wants, 4, 4)?.cast(),
            answer: segment.at(slice.answer, 8, 8)?.cast(),
            tallies: segment.at(slice.tallies, TALLIES * size_of::<Tally>(), 64)?.cast(),
            inbox: inbox.clone(),
        };
        Ok((shared, cells, span))
    }

    #[inline(always)]
    fn cursors(&self) -> &Cursors {
        // SAFETY: checked and mapped (`new`); made of atomics only.
        unsafe { self.cursors.as_ref() }
    }

    #[inline(always)]
    fn wants(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.wants.as_ref() }
    }

    #[inline(always)]
    fn answer(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { self.answer.as_ref() }
    }

    fn tally(&self, index: usize) -> &Tally {
        assert!(index < TALLIES, "tally {index} of {TALLIES}");
        // SAFETY: index < TALLIES, all of which were checked and are mapped (`new`); made of atomics only.
        unsafe { self.tallies.add(index).as_ref() }
    }
}

/// Claims that found no room, since that was last reported: what the peer was known to have given back when they failed.
///
/// A later claim that succeeds does not end it: another class may still wait (invariant I12).
#[derive(Default)]
struct Starved {
    of_cells: Option<u64>,
    of_payload: Option<u64>,
}

/// From here to the peer.
pub struct Outgoing {
    cells: cells::Producer,
    payload: payload::Producer,
    shared: Shared,
    sleep: NonNull<AtomicU32>,
    fencing: Fencing,
    claimed: usize,
    pace: Pace,
    starved: Starved,
    reserve: u64,
    stream_limit: usize,
    message_limit: usize,
    /// Sleepers woken so far.
    pub wakeups: u64,
}

// SAFETY: the pointers lead into the mapped inbox, which `shared` keeps; atomics only.
unsafe impl Send for Outgoing {}

impl Outgoing {
    /// Reserves this rank's slice of a peer's inbox and announces the arrival.
    pub fn open(inbox: &Inbox, me: Rank, fencing: Fencing, rewinds: bool) -> Result<Self, SegmentError> {
        let layout = inbox.layout;
        inbox.segment().reserve(layout.slice_start(me.0 as usize), layout.slice_bytes())?;
        let (shared, cells, span) = Shared::new(inbox, me, rewinds)?;
        // A compiler fence suffices only where both are registered (invariant I11).
        let both = fencing == Fencing::Asymmetric && inbox.fencing() == Fencing::Asymmetric;
        let outgoing = Self {
            cells: cells::Producer::new(cells),
            payload: payload::Producer::new(span),
            sleep: NonNull::from(inbox.sleep_word()),
            fencing: if both { Fencing::Asymmetric } else { Fencing::Fences },
            claimed: NOTHING,
            pace: Pace::new(),
            starved: Starved::default(),
            reserve: layout.cells as u64 / 8,
            stream_limit: layout.payload / 2,
            message_limit: layout.payload,
            wakeups: 0,
            shared,
        };
        inbox.arrive(me);
        Ok(outgoing)
    }

    #[inline(always)]
    pub fn claim(&mut self, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        // No kind of traffic takes all the room (invariant I8).
        let reserve = if class == Class::Control { 0 } else { self.reserve };
        self.ask_for_cells(reserve)?;
        if bulk == 0 {
            self.claimed = 0;
            return Ok(Slot { inline: self.cells.inline(), bulk: Window::empty() });
        }
        let limit = if class == Class::Stream { self.stream_limit } else { self.message_limit };
        let window = place(&mut self.payload, &mut self.pace, &self.shared, &mut self.starved, bulk, limit)?;
        self.claimed = bulk;
        Ok(Slot { inline: self.cells.inline(), bulk: window })
    }

    /// Whether `reserve` cells beside the next one are free.
    #[inline(always)]
    fn ask_for_cells(&mut self, reserve: u64) -> Result<(), Busy> {
        if self.cells.has_room(reserve, self.shared.cursors()) {
            return Ok(());
        }
        self.starved.of_cells.get_or_insert(self.cells.known());
        Err(Busy)
    }

    /// Whether so many packets with so many bytes each can be claimed one after the other.
    pub fn has_room(&mut self, packets: usize, bulk: usize) -> bool {
        let cursors = self.shared.cursors();
        self.cells.has_room(self.reserve + packets as u64, cursors)
            && self.payload.has_room(packets, bulk, self.message_limit, cursors)
    }

    /// A packet with nothing but a bulk, in one step.
    #[inline(always)]
    pub fn post_bulk(&mut self, header: Header, bulk: &[u8]) -> Result<(), Busy> {
        self.ask_for_cells(self.reserve)?;
        let (len, limit) = (bulk.len(), self.message_limit);
        let window = place(&mut self.payload, &mut self.pace, &self.shared, &mut self.starved, len, limit)?;
        window.write(0, bulk);
        self.publish_bulk(header, len);
        Ok(())
    }

    /// A packet without bulk, in one step.
    #[inline(always)]
    pub fn post(&mut self, header: Header, bytes: &[u8]) -> Result<(), Busy> {
        self.ask_for_cells(self.reserve)?;
        self.publish(header, header.inline_len, bytes);
        Ok(())
    }

    #[inline(always)]
    pub fn commit(&mut self, header: Header) {
        let bulk = std::mem::replace(&mut self.claimed, NOTHING);
        assert!(bulk != NOTHING, "commit without claim");
        let most = if bulk == 0 { MAX_INLINE } else { MAX_INLINE_WITH_BULK };
        debug_assert!(header.inline_len as usize <= most, "{} bytes beside a header", header.inline_len);
        match bulk {
            0 => self.publish(header, header.inline_len, &[]),
            _ => self.publish_bulk(header, bulk),
        }
    }

    /// Publishes the next cell and the `bulk` bytes that were placed last.
    #[inline(always)]
    fn publish_bulk(&mut self, header: Header, bulk: usize) {
        let timed = if self.pace.written() { TIMED } else { 0 };
        let note = u64::from(self.payload.commit()) | (bulk as u64) << 32;
        self.cells.inline().write(MAX_INLINE_WITH_BULK, &note.to_ne_bytes());
        self.publish(header, header.inline_len | HAS_BULK | timed, &[]);
    }

    /// Publishes the next cell, with inline bytes unless it is filled already, and wakes the peer if it sleeps.
    #[inline(always)]
    fn publish(&mut self, header: Header, len: u8, inline: &[u8]) {
        let first = u64::from(header.kind) << 16 | u64::from(len) << 24 | u64::from(header.flow) << 32;
        self.cells.post(first, u64::from(header.tag) | u64::from(header.sequence) << 32, inline);
        // SAFETY: the sleep word lies in the mapped inbox (`open`).
        let word = unsafe { self.sleep.as_ref() };
        if sleep::wake_if_asleep(word, self.fencing, self.shared.inbox.event()) {
            self.wakeups += 1;
        }
    }

    /// Before sleep: if a claim found no room, asks the peer to wake us when there is some.
    pub fn ask_for_room(&self) {
        if self.starved.of_cells.is_some() || self.starved.of_payload.is_some() {
            sleep::ask_for_room(self.shared.wants());
        }
    }

    /// After that and a heavy barrier: whether room was given back since a claim failed. Reported once: who is told
    /// tries again.
    pub fn room_came(&mut self) -> bool {
        let cursors = self.shared.cursors();
        let came = self.starved.of_cells.is_some_and(|known| self.cells.room_came(known, cursors))
            || self.starved.of_payload.is_some_and(|known| self.payload.room_came(known, cursors));
        if came {
            self.starved = Starved::default();
        }
        came
    }

    pub fn tally(&self, index: usize) -> &Tally {
        self.shared.tally(index)
    }
}

/// Where a bulk goes, and how it is best written there, if the ring holds no more than `limit` bytes with it. Takes the parts
/// of an [`Outgoing`], so that its cells can still be borrowed.
#[inline(always)]
fn place<'a>(
    payload: &'a mut payload::Producer,
    pace: &mut Pace,
    shared: &Shared,
    starved: &mut Starved,
    bulk: usize,
    limit: usize,
) -> Result<Window<'a>, Busy> {
    assert!(bulk <= shared.inbox.layout.payload / 4, "a bulk of {bulk} bytes is above the rail's max_bulk");
    let known = payload.known();
    let Some(window) = payload.claim(bulk, limit, shared.cursors()) else {
        starved.of_payload.get_or_insert(known);
        return Err(Busy);
    };
    Ok(match pace.choose(bulk, shared.answer()) {
        Way::Cached => window,
        Way::Past => window.past_cache(),
    })
}

/// The header in the two words of a cell.
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

/// From the peer to here.
pub struct Incoming {
    cells: cells::Consumer,
    payload: payload::Consumer,
    shared: Shared,
    sender: Rank,
    /// Bulk of the packet polled last.
    bulk: usize,
    reading: Reading,
    /// The sender's sleep word, to be woken when it waits for room.
    sleep: NonNull<AtomicU32>,
    sender_inbox: Inbox,
}

// SAFETY: as for `Outgoing`.
unsafe impl Send for Incoming {}

impl Incoming {
    /// What `sender`, who has arrived, writes into our inbox.
    pub fn open(
        inbox: &Inbox,
        sender: Rank,
        sender_inbox: &Inbox,
        rewinds: bool,
    ) -> Result<Self, SegmentError> {
        let (shared, cells, span) = Shared::new(inbox, sender, rewinds)?;
        Ok(Self {
            cells: cells::Consumer::new(cells),
            payload: payload::Consumer::new(span),
            shared,
            sender,
            bulk: 0,
            reading: Reading::default(),
            sleep: NonNull::from(sender_inbox.sleep_word()),
            sender_inbox: sender_inbox.clone(),
        })
    }

    /// Takes a packet in one step, if `accept` wants it.
    #[inline(always)]
    pub fn glance(&mut self, accept: &mut impl Accept) -> Glance {
        let inline = self.cells.inline(); // Before the look: its acquire would have everything read again.
        let (first, second) = match self.cells.peek() {
            cells::Peek::Cell(first, second) => (first, second),
            cells::Peek::Empty => return Glance::Nothing,
            cells::Peek::Corrupt(..) => return Glance::Left,
        };
        let header = header(first, second);
        match inline.part(0, (first >> 24) as u8 as usize) {
            Some(inline) if accept.accept(header, inline, Window::empty()) => {}
            Some(_) => return Glance::Left,
            None => return self.glance_bulk(header, (first >> 24) as u8, accept),
        }
        if self.cells.advance(self.shared.cursors()) {
            self.wake_starved();
        }
        Glance::Taken
    }

    /// The same with a bulk.
    #[inline(always)]
    fn glance_bulk(&mut self, header: Header, len: u8, accept: &mut impl Accept) -> Glance {
        let Some((said, bulk)) = self.announced(header, len) else { return Glance::Left };
        let Ok(window) = self.payload.window(said, bulk) else { return Glance::Left };
        if len & TIMED != 0 {
            self.reading.begin();
        }
        let inline = self.cells.inline().part(0, header.inline_len as usize);
        if !inline.is_some_and(|inline| accept.accept(header, inline, window)) {
            return Glance::Left;
        }
        self.bulk = bulk;
        self.release();
        Glance::Taken
    }

    /// Place and length of the bulk that a cell tells of, if there can be such a one.
    #[inline(always)]
    fn announced(&self, header: Header, len: u8) -> Option<(u32, usize)> {
        let mut note = [0; 8];
        self.cells.inline().read(MAX_INLINE_WITH_BULK, &mut note);
        let note = u64::from_ne_bytes(note);
        let (said, bulk) = (note as u32, (note >> 32) as usize);
        let possible = len & HAS_BULK != 0
            && header.inline_len as usize <= MAX_INLINE_WITH_BULK
            && bulk != 0
            && bulk <= self.shared.inbox.layout.payload / 4;
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
                landed: 0,
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
        match self.payload.window(said, bulk) {
            Ok(window) => Ok(Some(Packet { header, inline: self.cells.inline(), bulk: window, landed: 0 })),
            Err(due) => Err(self.bad(format_args!("a bulk at {said:#x} instead of {due:#x}"))),
        }
    }

    #[inline(always)]
    pub fn release(&mut self) {
        let mut told = self.cells.advance(self.shared.cursors());
        if self.bulk != 0 {
            told |= self.payload.free(std::mem::take(&mut self.bulk), self.shared.cursors());
            self.reading.end(self.shared.answer());
        }
        if told {
            self.wake_starved();
        }
    }

    /// Room was given back: whoever waits for it is woken.
    #[cold]
    fn wake_starved(&mut self) {
        // SAFETY: the sleep word lies in the sender's inbox, mapped as long as `sender_inbox`.
        let word = unsafe { self.sleep.as_ref() };
        sleep::wake_if_asked(self.shared.wants(), word, self.sender_inbox.event());
    }

    pub fn tally(&self, index: usize) -> &Tally {
        self.shared.tally(index)
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
