//! Layouts: the compiled description of the bytes of an element, which need not be one stretch of memory.
//!
//! Owns the description and its consequences: sizes, bounds, and the moving of bytes between memory and a
//! packed stream, from any offset of the stream. It knows no datatypes: its user knows which numbers the
//! bytes hold.
//!
//! ```text
//!   memory   ··AA····AA····AA····AA··        a block of 2, repeated 4 times, 6 apart: one node, however many blocks
//!   packed   AAAAAAAA
//! ```

mod builder;
mod encoding;
mod lists;
mod moving;
mod node;
mod node_builder;

use std::ops::Range;
use std::sync::Arc;

pub use builder::{CopySpan, LayoutBuilder};
pub use encoding::MOST_BYTES as MOST_ENCODED;

use crate::buffer::{Bounds, HasBounds, InBuffer, Lent, OutBuffer, Raw, RawMut, Readable};
use lists::{BlockList, PlacedBlock};
use moving::{Gather, Scatter};
use node::{Node, Visit, visit_copies};

/// Average block length below which bytes are packed instead of passed block by block to a driver.
const COARSE: usize = 4096;
/// Average block length below which loops for a known length pack the blocks.
const SHORT: usize = 128;

/// The bytes of one element relative to a place, in packing order, and the distance to the next element.
#[derive(Clone, Debug)]
pub struct Layout {
    at: isize,
    root: Node,
    extent: isize,
    /// Bounds of all bytes; 0 and 0 if there are none. All visited bytes of an element lie between them.
    low: isize,
    high: isize,
}

impl Layout {
    /// Makes a layout of `len` bytes in one block.
    ///
    /// # Panics
    /// They are more than an address space has.
    pub fn block(len: usize) -> Self {
        let high = isize::try_from(len).expect("a block fits the address space");
        Self { at: 0, root: Node::Block(len), extent: high, low: 0, high }
    }

    /// Makes one element of `count` copies of it, `stride` bytes apart; none if they exceed the address
    /// space. The extent stays.
    pub fn repeated(&self, count: usize, stride: isize) -> Option<Self> {
        let root = self.root.repeated(count, stride)?;
        if root.size() == 0 {
            return Some(Self { extent: self.extent, ..Self::block(0) });
        }
        let (low, high) = spread(self.low, self.high, count, stride)?;
        Some(Self { at: self.at, root, extent: self.extent, low, high }).filter(Self::is_sound)
    }

    /// Returns the layout moved by `by` bytes; none if it leaves the address space.
    pub fn shifted(&self, by: isize) -> Option<Self> {
        if self.size() == 0 {
            return Some(self.clone());
        }
        let (low, high) = (self.low.checked_add(by)?, self.high.checked_add(by)?);
        Some(Self { at: self.at.wrapping_add(by), root: self.root.clone(), low, high, ..*self })
    }

    /// Makes one element of several, packed in this order; none if it exceeds the address space. Its extent
    /// reaches from the lowest to the highest byte.
    pub fn sequence(parts: impl IntoIterator<Item = Layout>) -> Option<Self> {
        let mut all = LayoutBuilder::new(0);
        parts.into_iter().try_for_each(|part| all.push(&part, 0, 1))?;
        all.build().map(|(layout, _)| layout)
    }

    /// Returns the layout with another extent: the next element is `extent` bytes further.
    pub fn with_extent(self, extent: isize) -> Self {
        Self { extent, ..self }
    }

    /// Returns true if packed size and span fit the address space.
    fn is_sound(&self) -> bool {
        isize::try_from(self.size()).is_ok() && self.high.checked_sub(self.low).is_some()
    }

    /// Returns the number of packed bytes of one element.
    #[inline]
    pub fn size(&self) -> usize {
        self.root.size()
    }

    /// Returns the distance to the next element.
    pub fn extent(&self) -> isize {
        self.extent
    }

    /// Returns the range from the lowest byte of an element to the end of its highest.
    pub fn bounds(&self) -> Range<isize> {
        self.low..self.high
    }

    /// Returns the number of packed bytes of `count` elements, if they fit the address space.
    pub fn total(&self, count: usize) -> Option<usize> {
        self.size().checked_mul(count).filter(|total| isize::try_from(*total).is_ok())
    }

    /// Returns the range from the lowest byte of `count` elements to the end of the highest, clipped to the
    /// address space.
    pub fn span(&self, count: usize) -> Range<isize> {
        if count == 0 || self.size() == 0 {
            return 0..0;
        }
        let last = isize::try_from(count - 1).unwrap_or(isize::MAX).saturating_mul(self.extent);
        self.low.saturating_add(last.min(0))..self.high.saturating_add(last.max(0))
    }

    /// Returns true if any number of elements is one stretch from place 0 on.
    pub fn is_contiguous(&self) -> bool {
        match self.root {
            Node::Block(0) => true,
            Node::Block(len) => self.at == 0 && usize::try_from(self.extent) == Ok(len),
            _ => false,
        }
    }

    /// Returns true if its blocks are too short for a driver to take them one by one.
    pub fn is_fine(&self) -> bool {
        self.size() / self.root.blocks().max(1) < COARSE
    }

    /// Returns true if loops for a known length move its blocks faster than one copy each.
    pub(crate) fn has_short_blocks(&self) -> bool {
        self.size() / self.root.blocks().max(1) < SHORT
    }

    /// Fills `to` with the packed bytes of `count` elements from `at` on.
    ///
    /// # Panics
    /// The elements have fewer bytes, or lie outside of `raw`.
    pub fn pack(&self, raw: &impl Readable, count: usize, at: usize, to: &mut [u8]) {
        let bounds = raw.bounds();
        self.check(bounds, count, at, to.len());
        // SAFETY: checked; `to` is borrowed exclusively, so it is none of the memory that is read.
        unsafe { self.gather(bounds, count, at, to.as_mut_ptr(), to.len()) }
    }

    /// Writes `from` as the packed bytes of `count` elements from `at` on.
    ///
    /// # Panics
    /// The elements have fewer bytes, or lie outside of `raw`.
    pub fn unpack(&self, raw: &mut RawMut, count: usize, at: usize, from: &[u8]) {
        let bounds = raw.bounds();
        self.check(bounds, count, at, from.len());
        // SAFETY: checked; `from` is borrowed, so it is none of the memory that is written.
        unsafe { self.scatter(bounds, count, at, from.as_ptr(), from.len()) }
    }

    /// Lends `count` elements to be sent, packed on the fly unless they are one stretch.
    ///
    /// # Panics
    /// The elements lie outside of `raw`, or have more bytes than an address space.
    pub fn lend(self: &Arc<Self>, raw: Raw, count: usize) -> OutBuffer {
        OutBuffer(self.lent(raw.bounds(), count))
    }

    /// Lends `count` elements to be filled.
    ///
    /// # Panics
    /// The panics of [`Layout::lend`] apply.
    pub fn lend_mut(self: &Arc<Self>, raw: RawMut, count: usize) -> InBuffer {
        InBuffer(self.lent(raw.bounds(), count))
    }

    pub(crate) fn lent(self: &Arc<Self>, bounds: Bounds, count: usize) -> Lent {
        match self.stretch(count) {
            Some((at, len)) => bounds.lent(at, len),
            None => Lent::scattered(self, bounds, count),
        }
    }

    /// Lends a range of the packed bytes of `count` elements. Elements outside of the range are not lent.
    pub(crate) fn lent_range(self: &Arc<Self>, bounds: Bounds, count: usize, range: Range<usize>) -> Lent {
        self.check(bounds, count, range.start, range.len());
        if range.is_empty() {
            return bounds.lent(0, 0);
        }
        let (first, last) = (range.start / self.size(), (range.end - 1) / self.size());
        // The span of the elements is within the bounds, so every place in between is in the address space.
        let bounds = bounds.moved(self.extent.wrapping_mul(first as isize));
        let (before, count) = (first * self.size(), last - first + 1);
        match self.stretch(count) {
            Some((at, _)) => bounds.lent(at.wrapping_add_unsigned(range.start - before), range.len()),
            None => Lent::scattered_range(self, bounds, count, range.start - before..range.end - before),
        }
    }

    /// Returns place and length of `count` elements, if they are one stretch.
    fn stretch(&self, count: usize) -> Option<(isize, usize)> {
        match self.root {
            Node::Block(len) if count == 1 => Some((self.at, len)),
            Node::Block(len) if usize::try_from(self.extent) == Ok(len) => {
                Some((self.at, self.total(count)?))
            }
            _ if count == 0 || self.size() == 0 => Some((0, 0)),
            _ => None,
        }
    }

    /// Returns the place of the first block of `count` elements, the length of a block and the distance, if
    /// the blocks have one length and equal distances.
    pub(crate) fn strided(&self, count: usize) -> Option<(isize, usize, isize)> {
        match &self.root {
            Node::Block(len) => Some((self.at, *len, self.extent)),
            Node::Repeat(repeat) => {
                let Node::Block(len) = repeat.inner else { return None };
                let goes_on =
                    isize::try_from(repeat.count).ok()?.checked_mul(repeat.stride) == Some(self.extent);
                (count == 1 || goes_on).then_some((self.at, len, repeat.stride))
            }
            _ => None,
        }
    }

    /// Checks that a range of the packed bytes exists and that the elements lie in the bounds.
    pub(crate) fn check(&self, bounds: Bounds, count: usize, at: usize, len: usize) {
        let total = self.total(count).expect("the elements fit the address space");
        assert!(at <= total && len <= total - at, "{len} packed bytes at {at} of {total}");
        let span = self.span(count);
        bounds.at(span.start, span.end.saturating_sub(span.start) as usize);
    }

    /// # Safety
    /// [`Layout::check`] was passed; `to` has room for `len` bytes, outside of the elements.
    pub(crate) unsafe fn gather(&self, bounds: Bounds, count: usize, at: usize, to: *mut u8, len: usize) {
        // SAFETY: the visited bytes lie in the span of the elements, and there are `len` of them.
        self.visit(count, at, len, &mut unsafe { Gather::new(bounds.start(), to) });
    }

    /// # Safety
    /// [`Layout::check`] was passed, and the memory was lent to be written; `from` has `len` bytes, outside of the elements.
    pub(crate) unsafe fn scatter(
        &self,
        bounds: Bounds,
        count: usize,
        at: usize,
        from: *const u8,
        len: usize,
    ) {
        // SAFETY: as in `gather`.
        self.visit(count, at, len, &mut unsafe { Scatter::new(from, bounds.start()) });
    }

    /// Calls `each(place, offset in the range, length)` for the stretches of a range of the packed bytes, in
    /// order. Places are relative to the first element.
    pub fn stretches(&self, count: usize, at: usize, len: usize, each: impl FnMut(isize, usize, usize)) {
        self.visit(count, at, len, &mut Each { each, done: 0 });
    }

    /// Visits packed bytes of `count` elements, which must exist.
    fn visit(&self, count: usize, skip: usize, len: usize, visit: &mut impl Visit) {
        debug_assert!(skip + len <= self.size() * count);
        match &self.root {
            Node::Block(size) if usize::try_from(self.extent) == Ok(*size) => {
                visit.one(self.at.wrapping_add_unsigned(skip), len);
            }
            Node::Repeat(r) if r.goes_on_after(self.extent) || count == 1 => {
                visit_copies(&r.inner, r.stride, self.at, skip, len, visit);
            }
            root => visit_copies(root, self.extent, self.at, skip, len, visit),
        }
    }
}

/// Returns the bounds of `count` copies of a range with these bounds.
fn spread(low: isize, high: isize, count: usize, stride: isize) -> Option<(isize, isize)> {
    let last = isize::try_from(count).ok()?.checked_sub(1)?.checked_mul(stride)?;
    Some((low.checked_add(last.min(0))?, high.checked_add(last.max(0))?))
}

/// Passes on each stretch.
struct Each<F> {
    each: F,
    done: usize,
}

impl<F: FnMut(isize, usize, usize)> Visit for Each<F> {
    fn one(&mut self, at: isize, len: usize) {
        (self.each)(at, self.done, len);
        self.done += len;
    }

    fn many(&mut self, at: isize, len: usize, count: usize, stride: isize) {
        for i in 0..count as isize {
            self.one(at.wrapping_add(stride.wrapping_mul(i)), len);
        }
    }

    fn listed(&mut self, at: isize, len: usize, blocks: &[PlacedBlock]) {
        blocks.iter().for_each(|block| self.one(at.wrapping_add(block.at), len));
    }

    fn elements(&mut self, at: isize, blocks: &BlockList, count: usize, stride: isize) {
        for i in 0..count as isize {
            let at = at.wrapping_add(stride.wrapping_mul(i));
            blocks.iter().for_each(|(place, _, len)| self.one(at.wrapping_add(place), len));
        }
    }
}

#[cfg(test)]
mod tests;
