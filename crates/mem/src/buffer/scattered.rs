//! Buffers whose bytes lie as a layout describes: packed and unpacked on the fly, at any offset.
//!
//! Owns the layout of such a buffer and its range. The [`Raw`](super::Raw) or [`RawMut`](super::RawMut) that
//! lent it promises that the memory may be accessed. The range was checked when the buffer was lent.

use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Arc;

use super::{Bounds, Form, InBuffer, Lent, More, OutBuffer, StridedMemory};
use crate::layout::Layout;
use crate::window::Window;

/// Bytes of the stage through which packed bytes pass between a layout and another layout or shared memory.
const STAGE: usize = 4096;

/// A range of the packed bytes of elements of a layout in memory.
pub(super) struct Scattered {
    layout: Arc<Layout>,
    bounds: Bounds,
    count: usize,
    /// The start of the range in the packed bytes of all elements.
    first: usize,
    total: usize,
}

impl Scattered {
    /// Calls `each(address, offset in the range, length)` for the stretches of memory of a range.
    pub fn stretches(&self, offset: usize, len: usize, mut each: impl FnMut(*mut u8, usize, usize)) {
        let start = self.bounds.start();
        self.layout.stretches(self.count, self.first + offset, len, |at, done, n| {
            each(start.wrapping_offset(at), done, n)
        });
    }

    /// Fills a window that others may access meanwhile. Short blocks are packed into memory of this thread
    /// first.
    pub fn fill(&self, offset: usize, to: Window<'_>) {
        self.check(offset, to.len());
        if !self.layout.has_short_blocks() {
            // SAFETY: the stretches are lent and at + n <= to.len(); no window covers memory that only its
            // owner may reach.
            return self.stretches(offset, to.len(), |address, at, n| unsafe { to.fill(at, address, n) });
        }
        let mut stage = [MaybeUninit::<u8>::uninit(); STAGE];
        let stage: *mut u8 = stage.as_mut_ptr().cast();
        for at in (0..to.len()).step_by(STAGE) {
            let n = STAGE.min(to.len() - at);
            // SAFETY: the stage has room for n bytes, which are written before they are read; at + n <= to.len().
            unsafe {
                self.gather(offset + at, stage, n);
                to.fill(at, stage, n);
            }
        }
    }

    /// Reads a whole window into this memory; it is the counterpart of [`Scattered::fill`].
    ///
    /// # Safety
    /// This memory was lent to be written.
    pub unsafe fn drain(&self, offset: usize, from: Window<'_>) {
        self.check(offset, from.len());
        if !self.layout.has_short_blocks() {
            // SAFETY: as in `fill`; lent for writing.
            return self
                .stretches(offset, from.len(), |address, at, n| unsafe { from.drain(at, address, n) });
        }
        let mut stage = [MaybeUninit::<u8>::uninit(); STAGE];
        let stage: *mut u8 = stage.as_mut_ptr().cast();
        for at in (0..from.len()).step_by(STAGE) {
            let n = STAGE.min(from.len() - at);
            // SAFETY: as in `fill`; lent for writing.
            unsafe {
                from.drain(at, stage, n);
                self.scatter(offset + at, stage, n);
            }
        }
    }

    /// # Safety
    /// `to` has room for `len` bytes, outside of this memory.
    pub unsafe fn gather(&self, offset: usize, to: *mut u8, len: usize) {
        self.check(offset, len);
        // SAFETY: `Lent::scattered` has checked all elements; the range lies in them; `to` by the caller's word.
        unsafe { self.layout.gather(self.bounds, self.count, self.first + offset, to, len) }
    }

    /// # Safety
    /// This memory was lent to be written; `from` has `len` bytes, outside of it.
    pub unsafe fn scatter(&self, offset: usize, from: *const u8, len: usize) {
        self.check(offset, len);
        // SAFETY: as in `gather`.
        unsafe { self.layout.scatter(self.bounds, self.count, self.first + offset, from, len) }
    }

    fn check(&self, offset: usize, len: usize) {
        assert!(offset <= self.total && len <= self.total - offset, "range outside of a buffer");
    }

    /// Returns true if its blocks are packed by loops for a known length.
    pub fn has_short_blocks(&self) -> bool {
        self.layout.has_short_blocks()
    }

    /// Describes its place, if it begins with an element and its blocks have one length and equal distances.
    pub fn strided(&self) -> Option<StridedMemory> {
        let (at, block, stride) = self.layout.strided(self.count).filter(|_| self.first == 0)?;
        StridedMemory::with_gaps(self.bounds.start().wrapping_offset(at) as u64, block, stride)
    }

    /// Returns true if its stretches are too short to be listed.
    pub fn is_fine(&self) -> bool {
        self.layout.is_fine()
    }
}

impl Lent {
    pub(crate) fn scattered(layout: &Arc<Layout>, bounds: Bounds, count: usize) -> Self {
        let total = layout.total(count).expect("the elements fit the address space");
        Self::scattered_range(layout, bounds, count, 0..total)
    }

    /// Lends a range of the packed bytes of `count` elements.
    pub(crate) fn scattered_range(
        layout: &Arc<Layout>,
        bounds: Bounds,
        count: usize,
        range: Range<usize>,
    ) -> Self {
        let (first, total) = (range.start, range.len());
        layout.check(bounds, count, first, total);
        let scattered = Scattered { layout: layout.clone(), bounds, count, first, total };
        let more = More { form: Form::Scattered(scattered), ..More::default() };
        Self {
            len: total,
            more: Some(Box::new(more)),
            ..Self::one(std::ptr::NonNull::dangling(), 0, std::ptr::null())
        }
    }

    /// Returns the description of the bytes, if they lie as a layout describes.
    #[inline]
    pub(super) fn as_scattered(&self) -> Option<&Scattered> {
        match &self.more.as_ref()?.form {
            Form::Scattered(scattered) => Some(scattered),
            _ => None,
        }
    }
}

/// Copies the first `len` bytes between buffers, at least one of which has short blocks.
pub(super) fn copy_staged(from: &OutBuffer, to: &mut InBuffer, len: usize) {
    let mut stage = [0; STAGE];
    let mut done = 0;
    while done < len {
        let n = STAGE.min(len - done);
        from.copy_to_slice(done, &mut stage[..n]);
        to.copy_from_slice(done, &stage[..n]);
        done += n;
    }
}
