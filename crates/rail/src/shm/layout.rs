//! Where things lie in an inbox: the one description both processes compute their addresses from.
//!
//! ```text
//!   page 0   magic, version, sizes │ sleep word │ news, arrivals, counted │ who has arrived (one bit a rank)
//!   page 1   counters of the owner
//!   then, for each rank that may send to the owner, a slice:
//!            cursors │ wants room, reading time │ tallies │ cells … │ payload …          reserved by that rank before its first packet
//! ```
//! An inbox comes from another process and is checked field by field before anything in it is believed
//! (invariants I1, I4).

use std::ops::RangeInclusive;

use canele_sys::ring::Cursors;
use canele_sys::segment::Segment;

use crate::{TALLIES, Tally};

/// "CANELÉ" and a zero: what every inbox starts with.
const MAGIC: u64 = u64::from_le_bytes(*b"CANEL\xc3\x89\0");
/// Changes with every change of what is described here.
pub const VERSION: u32 = 4;
/// As many ranks of one machine can have a bit.
pub const MOST_RANKS: usize = 4096;
/// Cells a ring may have.
pub const CELLS: RangeInclusive<usize> = 64..=1 << 16;
/// Bytes a payload ring may have.
pub const PAYLOAD: RangeInclusive<usize> = 16 << 10..=64 << 20;
const PAGE: usize = 4096;

/// Offset of the sleep word, which says how to wake its owner; beside it, whether its owner relies on asymmetric fences.
pub const SLEEP: usize = 64;
/// Offset of the word that says whether the owner answers `membarrier`.
pub const FENCING: usize = 68;
/// Offset of the counter of news from the launcher.
pub const NEWS: usize = 128;
/// Offset of the counter of ranks that have arrived.
pub const ARRIVALS: usize = 132;
/// Offset of the number of news after which the owner last wrote its counters.
pub const COUNTED: usize = 136;
/// Offset of the bits that say who.
pub const ARRIVED: usize = 192;
/// Offset of the owner's counters.
pub const COUNTERS: usize = PAGE;
/// Room for counters, in 64-bit words.
pub const COUNTER_WORDS: usize = PAGE / 8;

/// The sizes of an inbox.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Ranks that may send to the owner, itself included.
    pub ranks: usize,
    /// Cells of each ring, a power of two.
    pub cells: usize,
    /// Bytes of each payload ring, a power of two.
    pub payload: usize,
}

/// Where the parts of one slice lie.
pub struct Slice {
    /// The [`Cursors`], written by the owner of the inbox.
    pub cursors: usize,
    /// The word by which the sender says that it waits for room.
    pub wants: usize,
    /// The word in which the owner says how long it took to read the bulk that the sender has marked last.
    pub answer: usize,
    /// The tallies of transfers to the owner.
    pub tallies: usize,
    /// The cells.
    pub cells: usize,
    /// The payload ring.
    pub payload: usize,
}

impl Layout {
    /// The layout for `ranks` ranks with rings as wished, rounded up to powers of two within [`CELLS`] and [`PAYLOAD`],
    /// then made smaller so that an inbox stays within `budget` bytes.
    pub fn new(ranks: usize, cells: usize, payload: usize, budget: usize) -> Self {
        let within = |wish: usize, range: RangeInclusive<usize>| {
            wish.clamp(*range.start(), *range.end()).next_power_of_two()
        };
        let mut layout = Self { ranks, cells: within(cells, CELLS), payload: within(payload, PAYLOAD) };
        while layout.bytes() > budget && layout.payload > *PAYLOAD.start() {
            layout.payload /= 2;
        }
        while layout.bytes() > budget && layout.cells > *CELLS.start() {
            layout.cells /= 2;
        }
        layout
    }

    /// Size of one slice, whole pages.
    pub fn slice_bytes(&self) -> usize {
        (128 + TALLIES * size_of::<Tally>() + self.cells * 64 + self.payload).next_multiple_of(PAGE)
    }

    /// Size of the whole inbox.
    pub fn bytes(&self) -> usize {
        self.header_bytes() + self.ranks * self.slice_bytes()
    }

    /// Size of what comes before the slices.
    pub fn header_bytes(&self) -> usize {
        2 * PAGE
    }

    /// Where the slice of `sender` starts.
    pub fn slice_start(&self, sender: usize) -> usize {
        assert!(sender < self.ranks, "rank {sender} has no slice in an inbox for {} ranks", self.ranks);
        self.header_bytes() + sender * self.slice_bytes()
    }

    /// Where the parts of the slice of `sender` lie.
    pub fn slice(&self, sender: usize) -> Slice {
        let cursors = self.slice_start(sender);
        debug_assert_eq!(size_of::<Cursors>(), 64);
        let tallies = cursors + 128;
        let cells = tallies + TALLIES * size_of::<Tally>();
        Slice {
            cursors,
            wants: cursors + 64,
            answer: cursors + 72,
            tallies,
            cells,
            payload: cells + self.cells * 64,
        }
    }

    /// Writes the header of a fresh inbox.
    pub fn describe(&self, inbox: &Segment) {
        use canele_sys::atomic::Ordering::Relaxed;
        let fields = [VERSION, self.ranks as u32, self.cells as u32, self.payload as u32];
        for (i, field) in fields.iter().enumerate() {
            inbox.atomic_u32(8 + 4 * i).store(*field, Relaxed);
        }
        inbox.atomic_u64(0).store(MAGIC, Relaxed);
    }

    /// Reads and checks the header of a peer's inbox.
    ///
    /// # Errors
    /// A text naming what was found and what was expected.
    pub fn read(inbox: &Segment, expected: Option<&Layout>) -> Result<Self, String> {
        use canele_sys::atomic::Ordering::Relaxed;
        if inbox.len() < 2 * PAGE {
            return Err(format!("{} bytes are too few for an inbox", inbox.len()));
        }
        let magic = inbox.atomic_u64(0).load(Relaxed);
        if magic != MAGIC {
            return Err(format!("it starts with {magic:#018x}, an inbox with {MAGIC:#018x}"));
        }
        let [version, ranks, cells, payload] = [8, 12, 16, 20].map(|at| inbox.atomic_u32(at).load(Relaxed));
        if version != VERSION {
            return Err(format!("its layout has version {version}, this program's has {VERSION}"));
        }
        let layout = Self { ranks: ranks as usize, cells: cells as usize, payload: payload as usize };
        if let Some(expected) = expected.filter(|&expected| *expected != layout) {
            return Err(format!("its sizes are {layout:?}, this rank's are {expected:?}"));
        }
        let sane = layout.ranks <= MOST_RANKS
            && layout.cells.is_power_of_two()
            && CELLS.contains(&layout.cells)
            && layout.payload.is_power_of_two()
            && PAYLOAD.contains(&layout.payload);
        if !sane || layout.bytes() != inbox.len() {
            return Err(format!(
                "{ranks} ranks with {cells} cells and {payload} bytes each do not make its {} bytes",
                inbox.len()
            ));
        }
        Ok(layout)
    }
}
