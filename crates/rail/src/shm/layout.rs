//! The layout of an inbox: the one description from which both processes compute addresses.
//!
//! ```text
//!   page 0   magic, version, sizes, processor │ sleep word │ notifications, arrivals, counted │ who has arrived (one bit a sender)
//!   page 1   counters of the owner │ waits of its threads
//!   then, for each rank of the owner's host, its sender's slice:
//!            cursors │ wants room, reading times │ chunk counters │ cells … │ payload …
//!            ╰── reserved by the sender before its first packet ───────┴── as the sender needs it ──╯
//! ```
//! A sender is numbered among the ranks of the host. So the size of an inbox depends on the ranks of the
//! host, not on those of the job. Each process maps the first two pages and its own slice of a peer's inbox.
//!
//! An inbox comes from another process and is checked field by field before its content is used (invariants
//! I1, I3).

use canele_mem::chunk_counter::ChunkCounter;
use std::ops::RangeInclusive;

use canele_mem::ring::Cursors;
use canele_sys::segment::Mapping;

use crate::CHUNK_COUNTERS;

/// "CANELÉ" and a zero, the first bytes of every inbox.
const MAGIC: u64 = u64::from_le_bytes(*b"CANEL\xc3\x89\0");
/// The version of the layout. Every change of the layout increments it.
pub const VERSION: u32 = 12;
/// Most ranks of one host that can have a slice in each other's inboxes.
pub const MOST_LOCAL_RANKS: usize = 4096;
/// Allowed numbers of cells of a ring.
pub const CELLS: RangeInclusive<usize> = 32..=1 << 16;
/// Allowed sizes of a payload ring, in bytes.
pub const PAYLOAD: RangeInclusive<usize> = 16 << 10..=64 << 20;
/// Bytes of the smallest page. Pages of this machine may be longer ([`whole_pages`]).
const PAGE: usize = 4096;

/// Bytes before the slices.
pub const HEADER_BYTES: usize = 2 * PAGE;
/// Bytes of a slice before its cells.
const WORDS_BYTES: usize = 128 + CHUNK_COUNTERS * size_of::<ChunkCounter>();

/// Offset of the processor on which the owner last waited, plus one; 0 if unknown.
pub const PROCESSOR: usize = 24;
/// Offset of the sleep word, which says how to wake its owner.
pub const SLEEP: usize = 64;
/// Offset of the word that is 1 if the owner answers `membarrier`.
pub const FENCING: usize = 68;
/// Offset of the word that is 1 if the owner's payload rings restart at their start when they are empty.
pub const REWINDS: usize = 72;
/// Offset of the counter of notifications from the launcher.
pub const NOTIFICATIONS: usize = 128;
/// Offset of the counter of ranks that have arrived.
pub const ARRIVALS: usize = 132;
/// Offset of the number of the notification after which the owner last wrote its counters.
pub const COUNTED: usize = 136;
/// Offset of the words by which peers recognise the owner when they read its memory: its process id, an
/// address and the content of that address.
pub const PROOF: usize = 768;
/// Offset of the bits of the ranks that have arrived.
pub const ARRIVED: usize = 192;
/// Offset of the owner's counters.
pub const COUNTERS: usize = PAGE;
/// Room for counters, in 64-bit words.
pub const COUNTER_WORDS: usize = 128;
/// Offset of the record of the waits of the owner's threads.
pub const WAITS: usize = COUNTERS + 8 * COUNTER_WORDS;
/// Room for that record, in 64-bit words.
pub const WAITS_WORDS: usize = PAGE / 8 - COUNTER_WORDS;

/// Rounds up to whole pages of this machine, of 4, 16 or 64 KiB. Each peer maps its slice alone, and a
/// mapping begins at a page.
fn whole_pages(bytes: usize) -> usize {
    bytes.next_multiple_of(rustix::param::page_size().max(PAGE))
}

/// The sizes of an inbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InboxLayout {
    /// Ranks that may send to the owner: those of its host, itself included.
    pub senders: usize,
    /// Cells of each ring, a power of two.
    pub cells: usize,
    /// Bytes of each payload ring, a power of two.
    pub payload: usize,
}

/// Offsets of the parts of a slice, in bytes from its start.
pub struct Slice {
    /// The [`Cursors`], written by the owner of the inbox.
    pub cursors: usize,
    /// The word by which the sender asks for room.
    pub wants: usize,
    /// The word in which the owner reports its reading time of the bulk that the sender marked last.
    pub answer: usize,
    /// The [`FetchTimes`](super::fetch::FetchTimes), written by the owner.
    pub fetch_times: usize,
    /// The chunk counters of transfers to the owner.
    pub chunk_counters: usize,
    /// The cells.
    pub cells: usize,
    /// The payload ring.
    pub payload: usize,
}

impl InboxLayout {
    /// Makes the layout for `senders` senders. Requested sizes are rounded up to powers of two within
    /// [`CELLS`] and [`PAYLOAD`]. Then they shrink until the inbox fits `budget` bytes. The memory reserved
    /// at first, with one page more for each sender, shrinks to a quarter of the budget. The payload shrinks
    /// first, down to 512 bytes for each cell, then both shrink.
    pub fn new(senders: usize, cells: usize, payload: usize, budget: usize) -> Self {
        let within = |wish: usize, range: RangeInclusive<usize>| {
            wish.clamp(*range.start(), *range.end()).next_power_of_two()
        };
        let mut layout = Self { senders, cells: within(cells, CELLS), payload: within(payload, PAYLOAD) };
        let (least_cells, least_payload) = (*CELLS.start(), *PAYLOAD.start());
        let is_large = |layout: &Self| {
            let first = layout.senders * (layout.first_bytes() + whole_pages(1));
            layout.bytes() > budget || first >= budget / 4
        };
        while is_large(&layout) && (layout.cells > least_cells || layout.payload > least_payload) {
            let much_payload = layout.payload / layout.cells > 512 || layout.cells == least_cells;
            if layout.payload > least_payload && much_payload {
                layout.payload /= 2;
            } else {
                layout.cells /= 2;
            }
        }
        layout
    }

    /// Returns the size of one slice, in whole pages.
    pub fn slice_bytes(&self) -> usize {
        whole_pages(self.payload_start() + self.payload)
    }

    /// Returns the size of the first part of a slice, in whole pages: all but the payload, and a quarter of
    /// the payload.
    pub fn first_bytes(&self) -> usize {
        whole_pages(self.payload_start() + self.payload / 4)
    }

    /// Returns the largest bulk of a packet: a quarter of the ring. It lies in the first part of a slice, so
    /// it can be sent without more memory.
    pub fn max_bulk(&self) -> usize {
        self.payload / 4
    }

    /// Returns the bytes of a slice before its payload ring.
    pub fn payload_start(&self) -> usize {
        WORDS_BYTES + self.cells * 64
    }

    /// Returns the size of the whole inbox.
    pub fn bytes(&self) -> usize {
        whole_pages(HEADER_BYTES) + self.senders * self.slice_bytes()
    }

    /// Returns the offset of the slice of `sender`.
    pub fn slice_start(&self, sender: usize) -> usize {
        assert!(sender < self.senders, "sender {sender} has no slice in an inbox for {}", self.senders);
        whole_pages(HEADER_BYTES) + sender * self.slice_bytes()
    }

    /// Returns the offsets of the parts of a slice.
    pub fn slice(&self) -> Slice {
        debug_assert_eq!(size_of::<Cursors>(), 64);
        Slice {
            cursors: 0,
            wants: 64,
            answer: 72,
            fetch_times: 80,
            chunk_counters: 128,
            cells: WORDS_BYTES,
            payload: self.payload_start(),
        }
    }

    /// Returns the layout of a ring between ranks whose inboxes have these layouts. Another job may have
    /// other sizes; both sides compute the same result.
    pub fn of_ring_with(&self, other: &Self) -> Self {
        Self { senders: 1, cells: self.cells.min(other.cells), payload: self.payload.min(other.payload) }
    }

    /// Writes the header of a fresh inbox.
    pub fn describe(&self, inbox: &Mapping) {
        use canele_sys::atomic::Ordering::Relaxed;
        let fields = [VERSION, self.senders as u32, self.cells as u32, self.payload as u32];
        for (i, field) in fields.iter().enumerate() {
            inbox.atomic_u32(8 + 4 * i).store(*field, Relaxed);
        }
        inbox.atomic_u64(0).store(MAGIC, Relaxed);
    }

    /// Reads and checks the header of a peer's inbox, whose file has `file_bytes`.
    ///
    /// # Errors
    /// Returns a text that names the value found and the value expected.
    pub fn read(inbox: &Mapping, file_bytes: usize, expected: Option<&InboxLayout>) -> Result<Self, String> {
        use canele_sys::atomic::Ordering::Relaxed;
        if inbox.len() < HEADER_BYTES {
            return Err(format!("{} bytes are too few for an inbox", inbox.len()));
        }
        let magic = inbox.atomic_u64(0).load(Relaxed);
        if magic != MAGIC {
            return Err(format!("it starts with {magic:#018x}, an inbox with {MAGIC:#018x}"));
        }
        let [version, senders, cells, payload] = [8, 12, 16, 20].map(|at| inbox.atomic_u32(at).load(Relaxed));
        if version != VERSION {
            return Err(format!("its layout has version {version}, this program's has {VERSION}"));
        }
        let layout = Self { senders: senders as usize, cells: cells as usize, payload: payload as usize };
        if let Some(expected) = expected.filter(|&expected| *expected != layout) {
            return Err(format!("its sizes are {layout:?}, this rank's are {expected:?}"));
        }
        let sane = layout.senders <= MOST_LOCAL_RANKS
            && layout.cells.is_power_of_two()
            && CELLS.contains(&layout.cells)
            && layout.payload.is_power_of_two()
            && PAYLOAD.contains(&layout.payload);
        if !sane || layout.bytes() != file_bytes {
            return Err(format!(
                "{senders} slices with {cells} cells and {payload} bytes each do not make its {file_bytes} bytes"
            ));
        }
        Ok(layout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn usual(senders: usize) -> InboxLayout {
        InboxLayout::new(senders, 256, 2 * MIB, 16 * MIB)
    }

    #[test]
    fn an_inbox_stays_within_its_budget_and_begins_with_a_quarter_of_it() {
        for senders in [1, 2, 3, 7, 16, 48, 64, 100, 128, 256] {
            let layout = usual(senders);
            assert!(layout.bytes() <= 16 * MIB, "{layout:?} has {} bytes", layout.bytes());
            let first = senders * layout.first_bytes();
            assert!(first < 4 * MIB, "{layout:?} begins with {first} bytes");
        }
        assert!(HEADER_BYTES + 256 * usual(256).first_bytes() <= 2_200_000);
    }

    #[test]
    fn few_ranks_get_what_they_wish_and_many_the_least() {
        assert_eq!(usual(2), InboxLayout { senders: 2, cells: 256, payload: 2 * MIB });
        assert_eq!(usual(256), InboxLayout { senders: 256, cells: 32, payload: 16 << 10 });
        assert_eq!(usual(4096), InboxLayout { senders: 4096, cells: 32, payload: 16 << 10 });
    }

    #[test]
    fn the_first_part_holds_the_largest_bulk() {
        for cells in [32, 256, 1 << 16] {
            for payload in [16 << 10, 2 * MIB, 64 * MIB] {
                let layout = InboxLayout { senders: 2, cells, payload };
                assert_eq!(layout.max_bulk(), payload / 4);
                assert!(layout.payload_start() + layout.max_bulk() <= layout.first_bytes(), "{layout:?}");
                let page = rustix::param::page_size();
                assert!(
                    layout.first_bytes().is_multiple_of(page) && layout.slice_start(1).is_multiple_of(page)
                );
                assert!(layout.first_bytes() <= layout.slice_bytes());
            }
        }
    }
}
