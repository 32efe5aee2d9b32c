//! The machine's limits: the bare costs with which every measurement of Canelé is compared.
//!
//! Owns the measuring loops and the layout of their shared memory block. The loops are minimal (a store, a
//! spin, a `memcpy`), without a protocol. They pass no messages, pin no processors and print nothing.
//!
//! The measuring processes map one block and call the same method with the same arguments in the same order.
//! A wait ends only when the other process answers. The process that started them ends the rest when one of
//! them dies.
//!
//! ```text
//! | lines, 128 B each                        | 256 cells  | wake word | buffer 0 | buffer 1 | ring 0 | ring 1 |
//! | 0..16 pair flags, then those of the ranks | of 64 B    | one page  | largest  | largest  | 2 MiB  | 2 MiB  |
//! ```

mod flags;
mod pair;
mod single_copy;
#[cfg(test)]
mod tests;
mod wake_up;

use canele_sys::atomic::{AtomicU32, AtomicU64, Ordering};
use canele_sys::segment::{Segment, SegmentError};
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::thread::yield_now;

/// Bytes of one piece of [`MachineLimits::stream_ns`]. It is the largest piece of [`MachineLimits::ring_ns`],
/// and others divide it.
pub const PIECE_BYTES: usize = 32 * 1024;
/// Pieces in a ring of [`MachineLimits::stream_ns`]. They exceed a processor's own caches; otherwise each
/// line would be fetched from the other processor before it is written.
const PIECES: u64 = 64;
const RING_BYTES: usize = PIECE_BYTES * PIECES as usize;
/// Number of lines of each rank in [`single_copy`].
const SINGLE_COPY_LINES: usize = 6;
/// Number of cells of the ring of [`MachineLimits::cells_per_s`].
const CELLS: u64 = 256;
/// The first line of those that belong to one rank each.
const OWN_LINES: usize = 16;
const PAGE_BYTES: usize = 4096;

/// A flag in its own pair of cache lines, so that the adjacent-line prefetcher joins no two flags.
#[repr(C, align(128))]
struct Line(AtomicU64);

/// A cache line with its own stamp.
#[repr(C, align(64))]
struct LimitCell {
    stamp: AtomicU32,
    payload: UnsafeCell<[u8; 60]>,
}

/// The sizes that must be equal in all processes that measure together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasuredSizes {
    /// Number of processes; processes 0 and 1 take the measurements of a pair.
    pub ranks: u32,
    /// The largest message of the copying measurements, in bytes.
    pub largest_bytes: usize,
}

impl MeasuredSizes {
    /// Returns the bytes of the block that the processes share. The block must be zero at the start.
    pub fn block_bytes(self) -> usize {
        self.rings_at() + 2 * RING_BYTES
    }

    fn lines(self) -> usize {
        self.single_copy_lines_at() + SINGLE_COPY_LINES * self.ranks as usize
    }

    fn single_copy_lines_at(self) -> usize {
        OWN_LINES + 2 * self.ranks as usize + 1
    }

    fn cells_at(self) -> usize {
        pages(self.lines() * size_of::<Line>())
    }

    fn wake_word_at(self) -> usize {
        self.cells_at() + pages(CELLS as usize * size_of::<LimitCell>())
    }

    fn buffers_at(self) -> usize {
        self.wake_word_at() + PAGE_BYTES
    }

    fn rings_at(self) -> usize {
        self.buffers_at() + 2 * pages(self.largest_bytes)
    }
}

fn pages(bytes: usize) -> usize {
    bytes.next_multiple_of(PAGE_BYTES)
}

/// The part of one process in measuring the machine's limits.
///
/// Every method measures one round; the caller computes medians over interleaved rounds.
pub struct MachineLimits<'a> {
    shape: MeasuredSizes,
    me: usize,
    lines: &'a [Line],
    cells: &'a [LimitCell; CELLS as usize],
    /// The word on which a process sleeps.
    wake_word: &'a AtomicU32,
    /// A buffer for each process of the pair, in the block.
    buffers: [NonNull<u8>; 2],
    /// A ring for each direction, in the block.
    rings: [NonNull<u8>; 2],
    /// Memory of this process only, allocated on first use.
    private: Vec<u8>,
    /// The progress of each measurement: the values on the lines only grow.
    lines_passed: u64,
    copies: u64,
    pieces_sent: u64,
    pieces_received: u64,
    cells_passed: u64,
    barriers: u64,
    agreements: u64,
    single_copies: u64,
    wake_ups: u64,
    /// The word by which the other processes recognise this one.
    proof_word: Box<u64>,
    block: PhantomData<&'a [u8]>,
}

impl<'a> MachineLimits<'a> {
    /// Takes part as process `me`. The segment has no other use and was fresh when the first process began.
    ///
    /// # Errors
    /// `Outside` when the segment is smaller than [`MeasuredSizes::block_bytes`].
    ///
    /// # Panics
    /// If `me` is not below `shape.ranks`.
    pub fn on(segment: &'a Segment, me: u32, shape: MeasuredSizes) -> Result<Self, SegmentError> {
        let base = segment.at(0, shape.block_bytes(), PAGE_BYTES)?;
        let block = NonNull::slice_from_raw_parts(base, shape.block_bytes());
        // SAFETY: inside the mapping, which lasts as long as `'a`. That the others keep to the rules of `new`
        // is the launcher's doing: it gives the segment to the ranks of one measurement only.
        Ok(unsafe { MachineLimits::new(block, me, shape) })
    }

    /// Takes part as process `me` of `shape.ranks`.
    ///
    /// # Panics
    /// If `me` is not below `shape.ranks`, or the block is smaller than [`MeasuredSizes::block_bytes`] or not
    /// aligned to a page: both are faults of the program, not of its user.
    ///
    /// # Safety
    /// `block` is mapped for reading and writing as long as `'a`, was zero before the first process
    /// began, and is touched only by the `MachineLimits` of `shape.ranks` processes (or threads), one for
    /// each number, which all call the same methods with the same arguments in the same order.
    pub unsafe fn new(block: NonNull<[u8]>, me: u32, shape: MeasuredSizes) -> Self {
        assert!(me < shape.ranks, "rank {me} of {}", shape.ranks);
        assert!(block.len() >= shape.block_bytes(), "{} < {} bytes", block.len(), shape.block_bytes());
        let base = block.cast::<u8>();
        assert!(base.addr().get().is_multiple_of(PAGE_BYTES), "the block is not aligned to a page");
        // SAFETY: `block_bytes` was checked above and covers every offset computed by `MeasuredSizes`.
        let at = |offset: usize| unsafe { base.add(offset) };
        // SAFETY: inside the block, aligned (pages), zero is a valid `Line` and the rest is atomics.
        let lines = unsafe { std::slice::from_raw_parts(base.cast::<Line>().as_ptr(), shape.lines()) };
        let cells = at(shape.cells_at()).cast::<[LimitCell; CELLS as usize]>();
        // SAFETY: as for the lines; payloads lie in `UnsafeCell` and are reached by pointer only.
        let cells = unsafe { cells.as_ref() };
        // SAFETY: inside the block, aligned to a page, on which nothing else lies.
        let wake_word = unsafe { at(shape.wake_word_at()).cast::<AtomicU32>().as_ref() };
        let (buffers, rings) = (shape.buffers_at(), shape.rings_at());
        MachineLimits {
            shape,
            me: me as usize,
            lines,
            cells,
            wake_word,
            buffers: [at(buffers), at(buffers + pages(shape.largest_bytes))],
            rings: [at(rings), at(rings + RING_BYTES)],
            private: Vec::new(),
            lines_passed: 0,
            copies: 0,
            pieces_sent: 0,
            pieces_received: 0,
            cells_passed: 0,
            barriers: 0,
            agreements: 0,
            single_copies: 0,
            wake_ups: 0,
            proof_word: Box::new(u64::from_ne_bytes(*b"canele\0\0") ^ u64::from(me) << 48),
            block: PhantomData,
        }
    }

    /// Returns the sizes that the processes agreed on.
    pub fn shape(&self) -> MeasuredSizes {
        self.shape
    }

    /// Gives all processes the value of process 0; none returns before all have called it. It yields the
    /// processor while it waits, so there may be more processes than processors.
    pub fn agree(&mut self, mine: u64) -> u64 {
        let (word, first) =
            (OWN_LINES + 2 * self.shape.ranks as usize, OWN_LINES + self.shape.ranks as usize);
        self.agreements += 1;
        if self.me == 0 {
            (1..self.shape.ranks as usize).for_each(|rank| self.yield_until(first + rank, self.agreements));
            // All processes have arrived, so all have read the previous value.
            self.lines[word].0.store(mine, Ordering::Relaxed);
            self.set(first, self.agreements);
            return mine;
        }
        self.set(first + self.me, self.agreements);
        self.yield_until(first, self.agreements);
        self.lines[word].0.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn set(&self, line: usize, value: u64) {
        // Pairs with the acquire in `await_line` and `yield_until`.
        self.lines[line].0.store(value, Ordering::Release);
    }

    /// Waits without a pause instruction, like the fastest receiver.
    #[inline(always)]
    fn await_line(&self, line: usize, value: u64) {
        // The address is computed once: the loop is a load and a comparison.
        let line = &self.lines[line].0;
        // Pairs with the release in `set`.
        while line.load(Ordering::Acquire) < value {}
    }

    fn yield_until(&self, line: usize, value: u64) {
        // Pairs with the release in `set`.
        while self.lines[line].0.load(Ordering::Acquire) < value {
            yield_now();
        }
    }
}
