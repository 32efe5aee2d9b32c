//! The sending end of a link: writes this rank's slice of the peer's inbox.

mod options;
mod ready;

use canele_mem::buffer::OutShare;
use canele_mem::chunk_counter::ChunkCounter;
use canele_mem::window::Window;
use std::ptr::NonNull;
use std::sync::Arc;

use canele_mem::ring::{cells, payload};
use canele_sys::atomic::AtomicU32;
use canele_sys::membarrier::Fencing;
use canele_sys::process_memory::Proof;
use canele_sys::segment::{Memfd, SegmentError};
use canele_sys::sleep;

use super::fetch::{Offers, SingleCopy};
use super::inbox::Inbox;
use super::link::{HAS_BULK, Shared, TELL, TIMED};
use super::pace::{CopyMethod, LEAST_PACED, LEAST_TIMED, Pace};
pub use options::LinkOptions;
use ready::Ready;

use crate::{Busy, Class, CopyingEnds, Header, MAX_INLINE, MAX_INLINE_WITH_BULK, Slot, TryPost};

/// Value of `claimed` while nothing is claimed.
const NOTHING: usize = usize::MAX;
/// Largest bulk in bytes that is moved to the shared cache: the reader of a longer one prefetches its lines
/// itself.
const MOST_DEMOTED: usize = 1 << 10;

/// Claims that found no room since the last report. Each field is the amount of returned room that was known
/// at the failure.
///
/// A later claim that succeeds does not clear it: another class may still wait (invariant I6).
#[derive(Default)]
struct Starved {
    of_cells: Option<u64>,
    of_payload: Option<u64>,
}

/// The sending end of a link.
pub struct Outgoing {
    cells: cells::Producer,
    payload: payload::Producer,
    shared: Shared,
    sleep: NonNull<AtomicU32>,
    fencing: Fencing,
    claimed: usize,
    pace: Pace,
    offers: Offers,
    /// True if lines of short bulks are moved to the cache that the peer shares.
    demotes: bool,
    /// True until a write into the peer's memory fails.
    may_write: bool,
    starved: Starved,
    ready: Ready,
    /// The peer's inbox, which keeps its sleep word and event mapped.
    inbox: Inbox,
    reserve: u64,
    stream_limit: usize,
    message_limit: usize,
    /// Number of sleepers woken so far.
    pub wakeups: u64,
}

// SAFETY: the pointers lead into the mapped inbox and slice, which `inbox` and `shared` keep; atomics only.
unsafe impl Send for Outgoing {}

impl Outgoing {
    /// Maps slice `me` of a peer's inbox, which is `file`, reserves its first part and announces the arrival.
    pub fn open(
        (inbox, file): (&Inbox, &Arc<Memfd>),
        me: usize,
        options: LinkOptions,
    ) -> Result<Self, SegmentError> {
        let start = inbox.layout.slice_start(me);
        let outgoing = Self::open_slice((file, start), inbox, options)?;
        inbox.arrive(me);
        Ok(outgoing)
    }

    /// Maps a slice at this offset of a file, through which this rank sends to the owner of the inbox.
    /// Reserves its first part.
    pub fn open_slice(
        (file, start): (&Arc<Memfd>, usize),
        inbox: &Inbox,
        LinkOptions { fencing, single_copy, rewinds, demotes }: LinkOptions,
    ) -> Result<Self, SegmentError> {
        let layout = inbox.layout;
        let slice = file.map(start, layout.slice_bytes())?;
        slice.dont_fork()?;
        slice.populate(0, layout.first_bytes())?;
        let (shared, cells, span) = Shared::new((Arc::new(slice), 0), layout, rewinds)?;
        // A compiler fence suffices only if both ranks are registered (invariant I6).
        let both = fencing == Fencing::Asymmetric && inbox.fencing() == Fencing::Asymmetric;
        let reserve = layout.cells as u64 / 8;
        Ok(Self {
            cells: cells::Producer::new(cells, reserve),
            payload: payload::Producer::new(span),
            sleep: NonNull::from(inbox.sleep_word()),
            fencing: if both { Fencing::Asymmetric } else { Fencing::Fences },
            claimed: NOTHING,
            pace: Pace::new(),
            offers: Offers::new(single_copy, rewinds),
            may_write: single_copy != SingleCopy::Never,
            demotes,
            starved: Starved::default(),
            ready: Ready::new(&layout, layout.first_bytes()),
            inbox: inbox.clone(),
            reserve,
            stream_limit: layout.payload / 2,
            message_limit: layout.payload,
            wakeups: 0,
            shared,
        })
    }

    #[inline(always)]
    pub fn claim(&mut self, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        // No class of traffic takes all the room (invariant I5).
        let reserve = if class == Class::Control { 0 } else { self.reserve };
        self.ask_for_cells(reserve)?;
        if bulk == 0 {
            self.claimed = 0;
            return Ok(Slot { inline: self.cells.inline(), bulk: Window::empty() });
        }
        let limit = if class == Class::Stream { self.stream_limit } else { self.message_limit };
        self.make_real(bulk)?;
        let paces = (&mut self.pace, &mut self.offers);
        let window = place(&mut self.payload, paces, &self.shared, &mut self.starved, bulk, limit)?;
        self.claimed = bulk;
        Ok(Slot { inline: self.cells.inline(), bulk: window })
    }

    /// Returns true if a packet of a message without bulk can be claimed.
    #[inline(always)]
    pub fn admits_message(&mut self) -> bool {
        self.ask_for_cells(self.reserve).is_ok()
    }

    /// Succeeds if `reserve` cells beside the next one are free.
    #[inline(always)]
    fn ask_for_cells(&mut self, reserve: u64) -> Result<(), Busy> {
        if self.cells.has_room(reserve, self.shared.cursors()) {
            return Ok(());
        }
        self.starved.of_cells.get_or_insert(self.cells.known());
        Err(Busy)
    }

    /// Makes sure that the next `bulk` bytes of the ring are reserved memory.
    #[inline(always)]
    fn make_real(&mut self, bulk: usize) -> Result<(), Busy> {
        if self.payload.offset() + bulk <= self.ready.end || self.find_memory(bulk) {
            return Ok(());
        }
        self.starved.of_payload.get_or_insert(self.payload.known());
        Err(Busy)
    }

    /// Finds reserved memory for the next `bytes` of the ring: by a rewind if allowed, by growth, or by a
    /// rewind of an empty ring.
    #[cold]
    fn find_memory(&mut self, bytes: usize) -> bool {
        if self.payload.rewinds() {
            self.payload.rewind(self.shared.cursors());
        }
        while self.payload.offset().saturating_add(bytes) > self.ready.end && self.grow() {}
        if self.payload.offset().saturating_add(bytes) > self.ready.end {
            self.payload.rewind(self.shared.cursors());
        }
        self.payload.offset().saturating_add(bytes) <= self.ready.end
    }

    /// Doubles the reserved part of the slice.
    fn grow(&mut self) -> bool {
        let (layout, from) = (&self.shared.layout, self.ready.slice);
        let to = (2 * from).min(layout.slice_bytes());
        // A refused request is not repeated, because it would be repeated at every packet.
        if self.ready.refused
            || to == from
            || self.shared.mapping.populate(self.shared.start + from, to - from).is_err()
        {
            self.ready.refused = true;
            return false;
        }
        self.ready = Ready::new(layout, to);
        true
    }

    /// Returns true if so many packets with so many bytes each can be claimed in a row.
    pub fn has_room(&mut self, packets: usize, bulk: usize) -> bool {
        if self.ready.end != usize::MAX {
            // One of them may have to skip to the start of the ring.
            let most = bulk.next_multiple_of(64).saturating_mul(packets + 1);
            if most <= self.message_limit && !self.find_memory(most) {
                return false;
            }
        }
        let cursors = self.shared.cursors();
        self.cells.has_room(self.reserve + packets as u64, cursors)
            && self.payload.has_room(packets, bulk, self.message_limit, cursors)
    }

    /// Sends a packet that has only a bulk, in one step.
    #[inline(always)]
    pub fn post_bulk(&mut self, header: Header, bulk: &[u8]) -> Result<(), Busy> {
        if bulk.len() < LEAST_PACED
            && self.cells.is_in_run()
            && let Some(window) = self.payload.claim_in_run(bulk.len())
        {
            window.write(0, bulk);
            self.publish_bulk(header, bulk.len());
            return Ok(());
        }
        self.post_bulk_behind(header, bulk)
    }

    /// Does [`Outgoing::post_bulk`] beyond the runs of the rings.
    #[inline(never)]
    fn post_bulk_behind(&mut self, header: Header, bulk: &[u8]) -> Result<(), Busy> {
        self.ask_for_cells(self.reserve)?;
        let (len, limit) = (bulk.len(), self.message_limit);
        self.make_real(len)?;
        let paces = (&mut self.pace, &mut self.offers);
        let window = place(&mut self.payload, paces, &self.shared, &mut self.starved, len, limit)?;
        window.write(0, bulk);
        self.publish_bulk(header, len);
        self.payload.renew_run(self.ready.end);
        Ok(())
    }

    /// Sends a packet without bulk if the next cell is known to be free.
    #[inline(always)]
    pub fn try_post(&mut self, header: Header, bytes: &[u8]) -> TryPost {
        let (first, second) = words(header, header.inline_len);
        match self.cells.try_post(first, second, bytes) {
            false => TryPost::Left,
            true if self.is_peer_asleep() => TryPost::PostedToSleeper,
            true => TryPost::Posted,
        }
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
        let said = self.payload.commit();
        let tell = if self.payload.offset() > self.ready.tell_from { TELL } else { 0 };
        let note = u64::from(said) | u64::from(bulk as u32 | tell) << 32;
        let is_demoted = self.demotes && bulk <= MOST_DEMOTED;
        if is_demoted {
            self.payload.claimed().demote();
        }
        // The cell is filled last: otherwise the peer would fetch its line back between two stores.
        self.cells.inline().write(MAX_INLINE_WITH_BULK, &note.to_ne_bytes());
        self.publish(header, header.inline_len | HAS_BULK | timed, &[]);
        if is_demoted {
            self.cells.demote_last();
        }
    }

    /// Publishes the next cell, with inline bytes unless it is filled already, and wakes the peer if it sleeps.
    #[inline(always)]
    fn publish(&mut self, header: Header, len: u8, inline: &[u8]) {
        let (first, second) = words(header, len);
        self.cells.post(first, second, inline);
        if self.is_peer_asleep() {
            self.wake();
        }
    }

    /// Returns true if the peer sleeps. Call it after a cell was published for the peer.
    #[inline(always)]
    fn is_peer_asleep(&self) -> bool {
        // SAFETY: the sleep word lies in the mapped inbox (`open`).
        sleep::is_asleep(unsafe { self.sleep.as_ref() }, self.fencing)
    }

    /// Wakes the sleeping peer.
    #[cold]
    #[inline(never)]
    pub fn wake(&mut self) {
        // SAFETY: as in `is_peer_asleep`.
        let word = unsafe { self.sleep.as_ref() };
        self.wakeups += u64::from(sleep::wake(word, self.inbox.event()));
    }

    /// Asks the peer before a sleep to wake this rank when there is room, if a claim found none.
    pub fn ask_for_room(&self) {
        if self.starved.of_cells.is_some() || self.starved.of_payload.is_some() {
            sleep::ask_for_room(self.shared.wants());
        }
    }

    /// Returns true if room was given back since a claim failed. Call it after `ask_for_room` and a heavy
    /// barrier. It reports this once, and the caller tries again.
    pub fn room_came(&mut self) -> bool {
        let cursors = self.shared.cursors();
        let came = self.starved.of_cells.is_some_and(|known| self.cells.room_came(known, cursors))
            || self.starved.of_payload.is_some_and(|known| self.payload.room_came(known, cursors));
        if came {
            self.starved = Starved::default();
        }
        came
    }

    /// Returns the ends that should copy a message of `bytes` bytes from memory to memory; `None` if it goes
    /// through the ring.
    #[inline]
    pub fn prefers_peer_copy(&mut self, bytes: usize) -> Option<CopyingEnds> {
        let Self { pace, shared, offers, .. } = self;
        offers.prefers_peer_copy(bytes, shared.fetch_times(), || pace.took_ps(shared.answer()))
    }

    /// Returns true if both ends should copy a message of `bytes` bytes.
    #[inline]
    pub fn prefers_both_ends(&self, bytes: usize) -> bool {
        self.offers.prefers_both_ends(bytes, self.shared.fetch_times())
    }

    /// Returns the proof of the peer's identity if this rank may write into its memory.
    pub fn written_peer(&self) -> Option<Proof> {
        self.inbox.proof().filter(|_| self.may_write)
    }

    /// Writes a part of a message into the peer's memory. Returns false if that failed; after a failure it is
    /// not tried again.
    pub fn store(&mut self, into: &[(u64, usize)], from: &OutShare) -> bool {
        self.may_write = self.written_peer().is_some_and(|proof| from.store(&proof, into));
        self.may_write
    }

    /// Notes that a message was offered for reading.
    pub fn note_offer(&mut self) {
        self.offers.note_offer();
    }

    pub fn chunk_counter(&self, index: usize) -> &ChunkCounter {
        self.shared.chunk_counter(index)
    }
}

/// Returns the words of a cell with this length byte; the first word lacks its stamp.
#[inline(always)]
fn words(header: Header, len: u8) -> (u64, u64) {
    let first = u64::from(header.kind) << 16 | u64::from(len) << 24 | u64::from(header.flow) << 32;
    (first, u64::from(header.tag) | u64::from(header.sequence) << 32)
}

/// Chooses the place of a bulk and the way to write it, if the ring holds no more than `limit` bytes with it.
/// Takes the parts of an [`Outgoing`], so that its cells can still be borrowed.
#[inline(always)]
fn place<'a>(
    payload: &'a mut payload::Producer,
    (pace, offers): (&mut Pace, &mut Offers),
    shared: &Shared,
    starved: &mut Starved,
    bulk: usize,
    limit: usize,
) -> Result<Window<'a>, Busy> {
    assert!(bulk <= shared.layout.max_bulk(), "a bulk of {bulk} bytes is above the rail's max_bulk");
    let known = payload.known();
    let Some(window) = payload.claim(bulk, limit, shared.cursors()) else {
        starved.of_payload.get_or_insert(known);
        return Err(Busy);
    };
    if bulk >= LEAST_TIMED && offers.bulk() {
        pace.hasten();
    }
    Ok(match pace.choose(bulk, shared.answer()) {
        CopyMethod::Cached => window,
        CopyMethod::Past => window.past_cache(),
    })
}

#[cfg(test)]
mod tests;
