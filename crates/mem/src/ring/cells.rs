//! A ring of 64-byte cells. A cell is announced by its own stamp, so a short message costs one cache line.
//!
//! The stamp is the lap of the ring (from 1 on, modulo 2^16) in the low bits of the cell's first word. The producer
//! stores that word last (release); the consumer takes the cell when the stamp is the lap it expects. Any stamp but the
//! expected and the previous one means that somebody wrote where it must not.

use std::cell::UnsafeCell;
use std::ptr::NonNull;

use super::Cursors;
use crate::window::Window;
use canele_sys::atomic::{AtomicU64, Ordering};

/// Bytes of a cell beside its two words.
pub const INLINE: usize = 48;

/// One cell. In loom's world it is larger, which changes nothing here.
#[repr(C, align(64))]
pub struct Cell {
    /// Stamp in the low 16 bits; the other 48 are the packet's.
    first: AtomicU64,
    /// The packet's second word. Atomic only so that the loom model watches it.
    second: AtomicU64,
    inline: UnsafeCell<[u8; INLINE]>,
}

/// The memory of a ring: a power of two of cells.
#[derive(Clone, Copy)]
pub struct Cells {
    base: NonNull<Cell>,
    mask: u64,
    shift: u32,
}

// SAFETY: it is an address; what may be done there is up to the one producer and the one consumer made from it.
unsafe impl Send for Cells {}

impl Cells {
    /// The ring of `count` cells at `base`, all of them zero or written by an earlier owner of this role.
    ///
    /// # Safety
    /// The cells stay mapped while a role on them exists; at most one producer and one consumer are made from them.
    pub unsafe fn new(base: NonNull<Cell>, count: usize) -> Self {
        assert!(count.is_power_of_two() && count <= 1 << 30, "a ring has a power of two of cells");
        Self { base, mask: count as u64 - 1, shift: count.trailing_zeros() }
    }

    /// How many cells.
    pub fn count(&self) -> u64 {
        self.mask + 1
    }

    #[inline(always)]
    fn at(&self, position: u64) -> &Cell {
        // SAFETY: the masked index is below the count; the memory is mapped (`new`).
        unsafe { self.base.add((position & self.mask) as usize).as_ref() }
    }

    #[inline(always)]
    fn lap(&self, position: u64) -> u16 {
        ((position >> self.shift) as u16).wrapping_add(1)
    }
}

/// The one who writes cells.
pub struct Producer {
    cells: Cells,
    head: u64,
    /// Positions below this are known to be free.
    limit: u64,
}

impl Producer {
    /// Starts at the beginning of a fresh ring.
    pub fn new(cells: Cells) -> Self {
        Self { cells, head: 0, limit: cells.count() }
    }

    /// Whether `reserve` cells besides the next one are free; asks the consumer's cursor only when it must.
    #[inline(always)]
    pub fn has_room(&mut self, reserve: u64, cursors: &Cursors) -> bool {
        self.head + reserve < self.limit || self.look_for_room(reserve, cursors)
    }

    #[cold]
    fn look_for_room(&mut self, reserve: u64, cursors: &Cursors) -> bool {
        // Acquire pairs with the release in Consumer::publish: the consumer no longer reads the cells below. A value
        // beyond our own head is not believed (invariant I4).
        let consumed = cursors.consumed.load(Ordering::Acquire);
        if consumed <= self.head {
            self.limit = self.limit.max(consumed + self.cells.count());
        }
        self.head + reserve < self.limit
    }

    /// How many cells the consumer is known to have given back.
    pub fn known(&self) -> u64 {
        self.limit - self.cells.count()
    }

    /// Whether the consumer has given back more than the `known` cells.
    pub fn room_came(&self, known: u64, cursors: &Cursors) -> bool {
        let consumed = cursors.consumed.load(Ordering::Relaxed);
        consumed <= self.head && consumed > known
    }

    /// The inline bytes of the next cell, to be filled before `post`. Only after `has_room`.
    #[inline(always)]
    pub fn inline(&mut self) -> Window<'_> {
        self.cells.at(self.head).inline()
    }

    /// Publishes the next cell: `first` without its stamp, the second word, and inline bytes that were not filled before.
    #[inline(always)]
    pub fn post(&mut self, first: u64, second: u64, inline: &[u8]) {
        // All that is needed is read before the first write into shared memory: to the compiler, that might change it.
        let (cell, lap, next) = (self.cells.at(self.head), self.cells.lap(self.head), self.head + 1);
        cell.inline().write(0, inline);
        cell.second.store(second, Ordering::Relaxed);
        // Release pairs with the acquire in Consumer::peek: whoever sees the stamp sees the rest (invariant I4).
        cell.first.store(first & !0xffff | u64::from(lap), Ordering::Release);
        self.head = next;
    }
}

/// The one who reads cells.
pub struct Consumer {
    cells: Cells,
    position: u64,
    /// At this position the producer is told.
    due: u64,
}

/// What a look at the next cell gives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Peek {
    /// Nothing new.
    Empty,
    /// A cell, its first two words.
    Cell(u64, u64),
    /// A stamp that cannot be: what was found, and the lap expected.
    Corrupt(u16, u16),
}

impl Consumer {
    /// Starts at the beginning of a fresh ring.
    pub fn new(cells: Cells) -> Self {
        Self { cells, position: 0, due: cells.count() / 4 }
    }

    /// Looks at the next cell.
    #[inline(always)]
    pub fn peek(&self) -> Peek {
        let (cell, lap) = (self.cells.at(self.position), self.cells.lap(self.position));
        // Acquire pairs with the release in Producer::post.
        let first = cell.first.load(Ordering::Acquire);
        let stamp = first as u16;
        if stamp == lap {
            return Peek::Cell(first, cell.second.load(Ordering::Relaxed));
        }
        if stamp == lap.wrapping_sub(1) { Peek::Empty } else { Peek::Corrupt(stamp, lap) }
    }

    /// The inline bytes of the cell that `peek` saw.
    #[inline(always)]
    pub fn inline(&self) -> Window<'_> {
        self.cells.at(self.position).inline()
    }

    /// Gives the cell back, telling the producer once in a quarter of a ring. Says whether it told.
    #[inline(always)]
    pub fn advance(&mut self, cursors: &Cursors) -> bool {
        self.position += 1;
        if self.position >= self.due {
            self.publish(cursors);
            return true;
        }
        false
    }

    #[cold]
    fn publish(&mut self, cursors: &Cursors) {
        self.due = self.position + self.cells.count() / 4;
        // Release pairs with the acquire in Producer::look_for_room.
        cursors.consumed.store(self.position, Ordering::Release);
    }
}

impl Cell {
    /// A cell of fresh memory.
    #[cfg(test)]
    pub(super) fn fresh() -> Self {
        Self { first: AtomicU64::new(0), second: AtomicU64::new(0), inline: UnsafeCell::new([0; INLINE]) }
    }

    #[inline(always)]
    fn inline(&self) -> Window<'_> {
        // SAFETY: the bytes lie in this mapped cell, and nobody holds a reference to them: they are only reached here.
        unsafe { Window::new(NonNull::new_unchecked(self.inline.get().cast()), INLINE) }
    }
}
