//! A ring of 64-byte cells. Each cell has its own stamp, so a short message costs one cache line.
//!
//! The stamp is the lap of the ring (from 1, modulo 2^16) in the low bits of the cell's first word. The
//! producer stores that word last (release); the consumer takes the cell when the stamp is the lap it
//! expects. Any stamp but the expected and the previous one means that a process wrote where it must not.

use std::cell::UnsafeCell;
use std::ptr::NonNull;

use super::Cursors;
use crate::window::Window;
use canele_sys::atomic::{AtomicU64, Ordering};

/// Bytes of a cell beside its two words.
pub const INLINE: usize = 48;

/// One cell. Under loom it is larger, which does not matter here.
#[repr(C, align(64))]
pub struct Cell {
    /// Stamp in the low 16 bits; the other 48 bits belong to the packet.
    first: AtomicU64,
    /// The packet's second word. It is atomic only so that the loom model checks it.
    second: AtomicU64,
    inline: UnsafeCell<[u8; INLINE]>,
}

/// The memory of a ring, a power of two of cells.
#[derive(Clone, Copy)]
pub struct Cells {
    base: NonNull<Cell>,
    count: u64,
    shift: u32,
}

// SAFETY: it is an address; what may be done there is up to the one producer and the one consumer made from it.
unsafe impl Send for Cells {}

impl Cells {
    /// Takes the ring of `count` cells at `base`. All of them are zero, or were written by an earlier owner
    /// of this role.
    ///
    /// # Safety
    /// The cells stay mapped while a role on them exists; at most one producer and one consumer are made from them.
    pub unsafe fn new(base: NonNull<Cell>, count: usize) -> Self {
        assert!(count.is_power_of_two() && count <= 1 << 30, "a ring has a power of two of cells");
        Self { base, count: count as u64, shift: count.trailing_zeros() }
    }

    /// Returns the number of cells.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the end of the ring, after its last cell.
    #[inline(always)]
    fn end(&self) -> NonNull<Cell> {
        // SAFETY: the memory has so many cells (`new`).
        unsafe { self.base.add(self.count() as usize) }
    }

    /// Returns the number of cells before a cell of the ring, or before its end.
    #[inline(always)]
    fn index(&self, cell: NonNull<Cell>) -> u64 {
        (cell.addr().get() - self.base.addr().get()) as u64 / size_of::<Cell>() as u64
    }

    /// Returns the stamp of the lap of a position.
    #[inline(always)]
    fn lap(&self, position: u64) -> u16 {
        ((position >> self.shift) as u16).wrapping_add(1)
    }
}

/// The producer of cells.
///
/// ```text
///   lap   │ published │ free, for messages │ reserve │ not known to be free │
///                     ▲ next               ▲ run_end  ▲ limit
/// ```
/// The cells of a *run*, from `next` to `run_end`, are free and of one lap, so a message in a run needs no
/// other check.
pub struct Producer {
    cells: Cells,
    next: NonNull<Cell>,
    run_end: NonNull<Cell>,
    /// The stamp of this lap.
    stamp: u16,
    /// Position of the first cell of this lap.
    lap_start: u64,
    /// Positions below this are known to be free.
    limit: u64,
    /// Number of cells that messages leave free.
    reserve: u64,
}

// SAFETY: as for `Cells`.
unsafe impl Send for Producer {}

impl Producer {
    /// Starts at the beginning of a fresh ring; messages leave `reserve` cells free.
    pub fn new(cells: Cells, reserve: u64) -> Self {
        let (next, limit) = (cells.base, cells.count());
        let mut producer = Self { cells, next, run_end: next, stamp: 1, lap_start: 0, limit, reserve };
        producer.renew_run();
        producer
    }

    /// Returns the position of the next cell.
    #[inline]
    fn head(&self) -> u64 {
        self.lap_start + self.cells.index(self.next)
    }

    /// Computes the run again, after a change of `limit` or of the lap.
    fn renew_run(&mut self) {
        let free = self.limit.saturating_sub(self.reserve).saturating_sub(self.lap_start);
        // SAFETY: at most as many cells as the ring has.
        self.run_end = unsafe { self.cells.base.add(free.min(self.cells.count()) as usize) };
    }

    /// Returns true if a message may take the next cell without another check.
    #[inline(always)]
    pub fn is_in_run(&self) -> bool {
        self.next < self.run_end
    }

    /// Returns true if `reserve` cells besides the next one are free. Reads the consumer's cursor only if
    /// necessary.
    #[inline(always)]
    pub fn has_room(&mut self, reserve: u64, cursors: &Cursors) -> bool {
        reserve <= self.reserve && self.is_in_run() || self.has_room_behind(reserve, cursors)
    }

    /// Does [`Producer::has_room`] beyond the run.
    #[inline(never)]
    fn has_room_behind(&mut self, reserve: u64, cursors: &Cursors) -> bool {
        self.begin_lap();
        if self.head() + reserve < self.limit {
            return true;
        }
        // Acquire pairs with the release in Consumer::publish: the consumer no longer reads the cells below.
        // A value beyond the producer's own head is ignored (invariant I4).
        let consumed = cursors.consumed.load(Ordering::Acquire);
        if consumed <= self.head() {
            self.limit = self.limit.max(consumed + self.cells.count());
            self.renew_run();
        }
        self.head() + reserve < self.limit
    }

    /// Begins the next lap if this one has ended.
    #[inline(always)]
    fn begin_lap(&mut self) {
        if self.next == self.cells.end() {
            self.lap_start += self.cells.count();
            (self.next, self.stamp) = (self.cells.base, self.cells.lap(self.lap_start));
            self.renew_run();
        }
    }

    /// Returns the number of cells that the consumer is known to have given back.
    pub fn known(&self) -> u64 {
        self.limit - self.cells.count()
    }

    /// Returns true if the consumer has given back more than the `known` cells.
    pub fn room_came(&self, known: u64, cursors: &Cursors) -> bool {
        let consumed = cursors.consumed.load(Ordering::Relaxed);
        consumed <= self.head() && consumed > known
    }

    /// Returns the inline bytes of the next cell, to fill before `post`. Allowed only after `has_room`.
    #[inline(always)]
    pub fn inline(&mut self) -> Window<'_> {
        self.begin_lap();
        // SAFETY: a lap that has ended has begun again, so the cell is one of the ring.
        unsafe { self.next.as_ref() }.inline()
    }

    /// Publishes the next cell: `first` without its stamp, the second word, and inline bytes unless they were
    /// filled before.
    #[inline(always)]
    pub fn post(&mut self, first: u64, second: u64, inline: &[u8]) {
        self.begin_lap();
        // SAFETY: as in `inline`.
        unsafe { self.publish(first, second, inline) }
    }

    /// Moves the last published cell out of this processor's own caches ([`Window::demote`]).
    #[inline(always)]
    pub fn demote_last(&self) {
        if self.next > self.cells.base {
            // SAFETY: before a place behind the first cell is a cell of the ring.
            unsafe { self.next.sub(1).as_ref() }.inline().demote();
        }
    }

    /// Publishes the next cell if it is in a run. Returns true if it has.
    #[inline(always)]
    pub fn try_post(&mut self, first: u64, second: u64, inline: &[u8]) -> bool {
        let is_in_run = self.is_in_run();
        if is_in_run {
            // SAFETY: the cells of a run are cells of the ring.
            unsafe { self.publish(first, second, inline) }
        }
        is_in_run
    }

    /// Publishes the next cell.
    ///
    /// # Safety
    /// `next` is not the end of the ring.
    #[inline(always)]
    unsafe fn publish(&mut self, first: u64, second: u64, inline: &[u8]) {
        // All values are read before the first write into shared memory, because the compiler assumes that
        // the write might change them.
        // SAFETY: a cell of the ring, which is mapped (`Cells::new`).
        let (at, cell) = (self.next, unsafe { self.next.as_ref() });
        let first = first & !0xffff | u64::from(self.stamp);
        cell.inline().write(0, inline);
        cell.second.store(second, Ordering::Relaxed);
        // Release pairs with the acquire in Consumer::peek: a consumer that sees the stamp sees the rest (invariant I4).
        cell.first.store(first, Ordering::Release);
        // SAFETY: behind a cell of the ring is another one, or the end.
        self.next = unsafe { at.add(1) };
    }
}

/// The consumer of cells.
pub struct Consumer {
    cells: Cells,
    next: NonNull<Cell>,
    /// The cell after which the lap ends, or a report to the producer is due.
    stop: NonNull<Cell>,
    /// The stamp of this lap.
    stamp: u16,
    /// Position of the first cell of this lap.
    lap_start: u64,
    /// Position at which the next report to the producer is due.
    due: u64,
}

// SAFETY: as for `Cells`.
unsafe impl Send for Consumer {}

/// Decides if [`Consumer::take_before_stop`] takes a cell. It is a trait and not a closure so that it can be
/// inlined.
pub trait TakeCell {
    /// Returns true if it takes a cell with these words and inline bytes.
    fn accept(&mut self, first: u64, second: u64, inline: Window<'_>) -> bool;
}

/// The result of a check of the next cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peek {
    /// There is no new cell.
    Empty,
    /// A cell, with its two words.
    Cell(u64, u64),
    /// An impossible stamp: the stamp found and the lap expected.
    Corrupt(u16, u16),
}

impl Consumer {
    /// Starts at the beginning of a fresh ring.
    pub fn new(cells: Cells) -> Self {
        let (next, due) = (cells.base, cells.count() / 4);
        let mut consumer = Self { cells, next, stop: next, stamp: 1, lap_start: 0, due };
        consumer.renew_stop();
        consumer
    }

    /// Computes the stop again, after a change of `due` or of the lap.
    fn renew_stop(&mut self) {
        let behind = (self.due - self.lap_start).min(self.cells.count());
        // SAFETY: at most as many cells as the ring has.
        self.stop = unsafe { self.cells.base.add(behind as usize) };
    }

    #[inline(always)]
    fn cell(&self) -> &Cell {
        // SAFETY: `advance` never leaves it at the end of the ring, so it is one of the ring's cells, which are mapped.
        unsafe { self.next.as_ref() }
    }

    /// Reads the next cell.
    #[inline(always)]
    pub fn peek(&self) -> Peek {
        let cell = self.cell();
        // Acquire pairs with the release in Producer::publish.
        let first = cell.first.load(Ordering::Acquire);
        let (stamp, lap) = (first as u16, self.stamp);
        if stamp == lap {
            return Peek::Cell(first, cell.second.load(Ordering::Relaxed));
        }
        if stamp == lap.wrapping_sub(1) { Peek::Empty } else { Peek::Corrupt(stamp, lap) }
    }

    /// Returns true if there is no next cell yet.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        // Relaxed: no other read depends on it.
        self.cell().first.load(Ordering::Relaxed) as u16 == self.stamp.wrapping_sub(1)
    }

    /// Returns the inline bytes of the cell that `peek` saw.
    #[inline(always)]
    pub fn inline(&self) -> Window<'_> {
        self.cell().inline()
    }

    /// Takes the next cell if `take` accepts it. A cell before the end of the lap or a due report is not
    /// taken. Returns true if it was taken.
    #[inline(always)]
    pub fn take_before_stop(&mut self, take: &mut impl TakeCell) -> bool {
        // SAFETY: behind a cell of the ring is another one, or the end.
        let next = unsafe { self.next.add(1) };
        if next >= self.stop {
            return false;
        }
        let inline = self.inline(); // Read first: the acquire of `peek` would force a reload.
        let Peek::Cell(first, second) = self.peek() else { return false };
        let taken = take.accept(first, second, inline);
        if taken {
            self.next = next;
        }
        taken
    }

    /// Gives the cell back, and reports to the producer once per quarter of the ring. Returns true if it
    /// reported.
    #[inline(always)]
    pub fn advance(&mut self, cursors: &Cursors) -> bool {
        // SAFETY: behind a cell of the ring is another one, or the end.
        self.next = unsafe { self.next.add(1) };
        self.next >= self.stop && self.pass_stop(cursors)
    }

    /// Reports to the producer if due, and begins the next lap if this one has ended. Returns true if it
    /// reported.
    #[cold]
    #[inline(never)]
    fn pass_stop(&mut self, cursors: &Cursors) -> bool {
        let position = self.lap_start + self.cells.index(self.next);
        if self.next == self.cells.end() {
            (self.next, self.lap_start, self.stamp) = (self.cells.base, position, self.cells.lap(position));
        }
        let is_due = position >= self.due;
        if is_due {
            self.due = position + self.cells.count() / 4;
            // Release pairs with the acquire in Producer::has_room_behind.
            cursors.consumed.store(position, Ordering::Release);
        }
        self.renew_stop();
        is_due
    }
}

impl Cell {
    /// Makes a cell of fresh memory.
    #[cfg(test)]
    pub(super) fn fresh() -> Self {
        Self { first: AtomicU64::new(0), second: AtomicU64::new(0), inline: UnsafeCell::new([0; INLINE]) }
    }

    #[inline(always)]
    fn inline(&self) -> Window<'_> {
        // SAFETY: the bytes lie in this mapped cell, and no reference to them exists: they are only reached here.
        unsafe { Window::new(NonNull::new_unchecked(self.inline.get().cast()), INLINE) }
    }
}
