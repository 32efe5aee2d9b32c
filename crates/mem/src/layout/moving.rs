//! Copies bytes between their places in memory and a packed stretch.
//!
//! Loops for a known length move blocks of the lengths of numbers. Bounds are not checked here: the maker of
//! a [`Gather`] or [`Scatter`] has checked that all visited places lie in lent memory. Both sides are memory
//! of this thread. Shared memory is copied through a stage (`buffer/scattered.rs`).

use std::ptr;

use super::lists::{BlockList, PlacedBlock};
use super::node::Visit;
use crate::copy::copy;

/// Copies from places around `from` to a packed stretch.
pub(super) struct Gather {
    from: *const u8,
    to: *mut u8,
}

/// Copies from a packed stretch to places around `to`.
pub(super) struct Scatter {
    from: *const u8,
    to: *mut u8,
}

impl Gather {
    /// # Safety
    /// Every place that is visited is readable, relative to `from`; `to` has room for all of them and overlaps none.
    pub unsafe fn new(from: *const u8, to: *mut u8) -> Self {
        Self { from, to }
    }
}

impl Scatter {
    /// # Safety
    /// Every place that is visited is writable, relative to `to`; `from` has bytes for all of them and overlaps none.
    pub unsafe fn new(from: *const u8, to: *mut u8) -> Self {
        Self { from, to }
    }
}

/// Runs a loop over blocks, compiled for each length of a number, and once for other lengths.
macro_rules! for_length {
    ($len:expr, $run:ident, ($($argument:expr),*)) => {
        match $len {
            1 => $run::<true>(1, $($argument),*),
            2 => $run::<true>(2, $($argument),*),
            4 => $run::<true>(4, $($argument),*),
            8 => $run::<true>(8, $($argument),*),
            12 => $run::<true>(12, $($argument),*),
            16 => $run::<true>(16, $($argument),*),
            24 => $run::<true>(24, $($argument),*),
            32 => $run::<true>(32, $($argument),*),
            len => $run::<false>(len, $($argument),*),
        }
    };
}

/// Elements whose blocks are moved together, first all first blocks, then all second ones, so that they stay
/// in the nearest cache.
const TOGETHER: usize = 32;

impl Visit for Gather {
    #[inline(always)]
    fn one(&mut self, at: isize, len: usize) {
        // SAFETY: as `new` was promised.
        unsafe {
            copy(self.to, self.from.wrapping_offset(at), len);
            self.to = self.to.add(len);
        }
    }

    #[inline]
    fn many(&mut self, at: isize, len: usize, count: usize, stride: isize) {
        let from = self.from.wrapping_offset(at);
        // SAFETY: as `new` was promised.
        unsafe {
            for_length!(len, gather, (self.to, len, from, stride, count));
            self.to = self.to.add(len * count);
        }
    }

    fn listed(&mut self, at: isize, len: usize, blocks: &[PlacedBlock]) {
        let from = self.from.wrapping_offset(at);
        // SAFETY: as `new` was promised.
        unsafe {
            for_length!(len, gather_listed, (self.to, from, blocks));
            self.to = self.to.add(len * blocks.len());
        }
    }

    fn elements(&mut self, at: isize, blocks: &BlockList, count: usize, stride: isize) {
        let mut left = count;
        let mut from = self.from.wrapping_offset(at);
        while left > 0 {
            let n = left.min(TOGETHER);
            for (at, before, len) in blocks.iter() {
                let from = from.wrapping_offset(at);
                // SAFETY: as `new` was promised; the block is `before` bytes behind the start of its packed element.
                unsafe {
                    let to = self.to.add(before);
                    for_length!(len, gather, (to, blocks.size, from, stride, n));
                }
            }
            from = from.wrapping_offset(stride.wrapping_mul(n as isize));
            // SAFETY: that many packed elements were written.
            self.to = unsafe { self.to.add(blocks.size * n) };
            left -= n;
        }
    }
}

impl Visit for Scatter {
    #[inline(always)]
    fn one(&mut self, at: isize, len: usize) {
        // SAFETY: as `new` was promised.
        unsafe {
            copy(self.to.wrapping_offset(at), self.from, len);
            self.from = self.from.add(len);
        }
    }

    #[inline]
    fn many(&mut self, at: isize, len: usize, count: usize, stride: isize) {
        let to = self.to.wrapping_offset(at);
        // SAFETY: as `new` was promised.
        unsafe {
            for_length!(len, scatter, (to, stride, self.from, len, count));
            self.from = self.from.add(len * count);
        }
    }

    fn listed(&mut self, at: isize, len: usize, blocks: &[PlacedBlock]) {
        let to = self.to.wrapping_offset(at);
        // SAFETY: as `new` was promised.
        unsafe {
            for_length!(len, scatter_listed, (to, self.from, blocks));
            self.from = self.from.add(len * blocks.len());
        }
    }

    fn elements(&mut self, at: isize, blocks: &BlockList, count: usize, stride: isize) {
        let mut left = count;
        let mut to = self.to.wrapping_offset(at);
        while left > 0 {
            let n = left.min(TOGETHER);
            for (at, before, len) in blocks.iter() {
                let to = to.wrapping_offset(at);
                // SAFETY: as `new` was promised; the block is `before` bytes behind the start of its packed element.
                unsafe {
                    let from = self.from.add(before);
                    for_length!(len, scatter, (to, stride, from, blocks.size, n));
                }
            }
            to = to.wrapping_offset(stride.wrapping_mul(n as isize));
            // SAFETY: that many packed elements were read.
            self.from = unsafe { self.from.add(blocks.size * n) };
            left -= n;
        }
    }
}

/// # Safety
/// The conditions of [`copy`] apply. If the length is `KNOWN` at compile time, the copy takes one or two
/// moves.
#[inline(always)]
unsafe fn block<const KNOWN: bool>(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's word.
    unsafe {
        match KNOWN {
            true => ptr::copy_nonoverlapping(from, to, len),
            false => copy(to, from, len),
        }
    }
}

/// # Safety
/// `count` blocks of `len` bytes lie from `from` on, `stride` apart. Separate memory from `to` on has room
/// for them, `step` apart.
#[inline(always)]
unsafe fn gather<const KNOWN: bool>(
    len: usize,
    to: *mut u8,
    step: usize,
    from: *const u8,
    stride: isize,
    count: usize,
) {
    let (mut to, mut from) = (to, from);
    for _ in 0..count {
        // SAFETY: the next block, and the room for it.
        unsafe { block::<KNOWN>(to, from, len) };
        to = to.wrapping_add(step);
        from = from.wrapping_offset(stride);
    }
}

/// # Safety
/// `count` blocks of `len` bytes lie from `from` on, `step` apart. Separate memory from `to` on has room for
/// them, `stride` apart.
#[inline(always)]
unsafe fn scatter<const KNOWN: bool>(
    len: usize,
    to: *mut u8,
    stride: isize,
    from: *const u8,
    step: usize,
    count: usize,
) {
    let (mut to, mut from) = (to, from);
    for _ in 0..count {
        // SAFETY: the next block, and the room for it.
        unsafe { block::<KNOWN>(to, from, len) };
        to = to.wrapping_offset(stride);
        from = from.wrapping_add(step);
    }
}

/// # Safety
/// Blocks of `len` bytes lie at the listed places, relative to `from`. Separate memory from `to` on has room
/// for them.
#[inline(always)]
unsafe fn gather_listed<const KNOWN: bool>(len: usize, to: *mut u8, from: *const u8, blocks: &[PlacedBlock]) {
    let mut to = to;
    for placed in blocks {
        // SAFETY: the next block, and the room for it.
        unsafe { block::<KNOWN>(to, from.wrapping_offset(placed.at), len) };
        to = to.wrapping_add(len);
    }
}

/// # Safety
/// The listed places, relative to `to`, have room for blocks of `len` bytes. The blocks lie contiguously from
/// `from` on, in separate memory.
#[inline(always)]
unsafe fn scatter_listed<const KNOWN: bool>(
    len: usize,
    to: *mut u8,
    from: *const u8,
    blocks: &[PlacedBlock],
) {
    let mut from = from;
    for placed in blocks {
        // SAFETY: the next block, and the room for it.
        unsafe { block::<KNOWN>(to.wrapping_offset(placed.at), from, len) };
        from = from.wrapping_add(len);
    }
}
