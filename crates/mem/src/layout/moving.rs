//! Bytes moved between their places in memory and a packed stretch.
//!
//! Blocks of the lengths that numbers have are moved by loops that know the length. Bounds are not looked at here: the caller that
//! makes a [`Gather`] or a [`Scatter`] has checked that all places of the walk lie in lent memory. Both sides are memory of this thread:
//! what others may access is copied to or from a stage (`buffer/scattered.rs`).

use std::ptr;

use super::lists::{BlockList, PlacedBlock};
use super::node::Visit;
use crate::copy::copy;

/// From places around `from` to a packed stretch.
pub(super) struct Gather {
    from: *const u8,
    to: *mut u8,
}

/// From a packed stretch to places around `to`.
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

/// Runs a loop over blocks: compiled for each length that numbers have, and once for the others.
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

/// Elements whose blocks are moved at once, the first block of each, then the second: they stay in the nearest cache.
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
/// As [`copy`]. With a length that is `KNOWN` when this is compiled it is a move or two.
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
/// `count` blocks of `len` bytes lie from `from` on, `stride` apart; there is room for them from `to` on, `step` apart, elsewhere.
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
/// `count` blocks of `len` bytes lie from `from` on, `step` apart; there is room for them from `to` on, `stride` apart, elsewhere.
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
/// Blocks of `len` bytes lie where the list says, relative to `from`; there is room for them from `to` on, elsewhere.
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
/// There is room for blocks of `len` bytes where the list says, relative to `to`; they lie side by side from `from` on, elsewhere.
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
