//! Memory of the program with many parts, each with a layout: the data that a collective sends to, or
//! receives from, each rank.
//!
//! Owns the promise of the memory, and no bytes. Lends ranges of parts, named by their places in the packed
//! bytes of all parts. One byte that does not exist separates the packed bytes of two parts, because a range
//! of both is never lent. Overlapping written parts are an error of the program, as two receives into one buffer
//! are.

use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use super::raw::HasBounds;
use super::{Bounds, InBuffer, Lent, OutBuffer, Raw, RawMut};
use crate::layout::Layout;

/// Some elements of the memory.
pub struct MemoryPart {
    /// The layout of each element.
    pub layout: Arc<Layout>,
    /// The number of elements.
    pub count: usize,
    /// Their offset in bytes from the memory's address.
    pub place: isize,
}

/// Memory whose parts are lent in ranges, each to its own transfer.
pub struct PartedMemory {
    bounds: Bounds,
    is_written: bool,
    /// The parts with their places in the packed bytes, in ascending order.
    parts: Vec<(MemoryPart, Range<usize>)>,
}

impl PartedMemory {
    /// Makes memory that is read.
    ///
    /// # Panics
    /// The parts have more bytes than an address space has.
    pub fn of(raw: Raw, parts: impl IntoIterator<Item = MemoryPart>) -> Self {
        Self::new(raw.bounds(), false, parts)
    }

    /// Makes memory that is written.
    ///
    /// # Panics
    /// The parts have more bytes than an address space has.
    pub fn of_mut(raw: RawMut, parts: impl IntoIterator<Item = MemoryPart>) -> Self {
        Self::new(raw.bounds(), true, parts)
    }

    fn new(bounds: Bounds, is_written: bool, parts: impl IntoIterator<Item = MemoryPart>) -> Self {
        let mut next = 0usize;
        let parts = parts.into_iter().map(|part| {
            let start = next;
            let len = part.layout.total(part.count).expect("the elements fit the address space");
            next = start.checked_add(len + 1).expect("the parts fit the address space");
            (part, start..start + len)
        });
        Self { bounds, is_written, parts: parts.collect() }
    }

    /// Returns the place of each part in the packed bytes.
    pub fn places(&self) -> impl Iterator<Item = Range<usize>> {
        self.parts.iter().map(|(_, place)| place.clone())
    }

    /// Lends this range of the packed bytes to be sent; an empty range is allowed.
    ///
    /// # Panics
    /// The range is not within one part, or that part lies outside of the memory.
    pub fn lend(&self, range: Range<usize>) -> OutBuffer {
        OutBuffer(self.lent(range))
    }

    /// Lends a range to be filled.
    ///
    /// # Panics
    /// The panics of [`PartedMemory::lend`] apply; also, the memory is only read.
    pub fn lend_mut(&self, range: Range<usize>) -> InBuffer {
        assert!(self.is_written || range.is_empty(), "the memory is only read");
        InBuffer(self.lent(range))
    }

    fn lent(&self, range: Range<usize>) -> Lent {
        if range.is_empty() {
            return Lent::one(NonNull::dangling(), 0, std::ptr::null());
        }
        let at = self.parts.partition_point(|(_, packed)| packed.end <= range.start);
        match self.parts.get(at) {
            Some((part, packed)) if packed.start <= range.start && range.end <= packed.end => {
                let bounds = self.bounds.moved(part.place);
                part.layout.lent_range(
                    bounds,
                    part.count,
                    range.start - packed.start..range.end - packed.start,
                )
            }
            _ => panic!("{range:?} is not within one part of the memory"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the columns of a matrix of two rows of four bytes, and parts without bytes.
    fn columns(bytes: &mut [u8]) -> PartedMemory {
        let column = Arc::new(Layout::block(1).repeated(2, 4).unwrap());
        let part = |place, count| MemoryPart { layout: column.clone(), count, place };
        // SAFETY: the tests touch their memory through this value alone until they are done with it.
        let raw = unsafe { RawMut::new(bytes.as_mut_ptr(), 0, bytes.len() as isize) };
        PartedMemory::of_mut(raw, [part(1, 0), part(3, 1), part(100, 0), part(0, 1)])
    }

    #[test]
    fn each_part_is_lent_where_it_lies() {
        let mut bytes = [1, 2, 3, 4, 5, 6, 7, 8];
        let memory = columns(&mut bytes);
        assert_eq!(memory.places().collect::<Vec<_>>(), [0..0, 1..3, 4..4, 5..7]);
        let (last, first) = (memory.lend(1..3), memory.lend(5..7));
        let mut packed = [0; 4];
        last.copy_to_slice(0, &mut packed[..2]);
        first.copy_to_slice(0, &mut packed[2..]);
        assert_eq!(packed, [4, 8, 1, 5]);
        memory.lend_mut(5..7).copy_from_slice(0, &[30, 40]);
        assert_eq!(memory.lend(2..2).len(), 0);
        assert_eq!(bytes, [30, 2, 3, 4, 40, 6, 7, 8]);
    }

    #[test]
    fn ranges_of_a_part_are_lent_from_any_byte_on() {
        let mut bytes: Vec<u8> = (0..24).collect();
        // Elements of two blocks of two bytes, four apart, with an extent of eight bytes.
        let element = Arc::new(Layout::block(2).repeated(2, 4).unwrap().with_extent(8));
        let part = MemoryPart { layout: element, count: 3, place: 0 };
        // SAFETY: as above.
        let raw = unsafe { RawMut::new(bytes.as_mut_ptr(), 0, 24) };
        let memory = PartedMemory::of_mut(raw, [part]);
        let packed = [0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21];
        for (start, end) in (0..12).flat_map(|start| (start + 1..=12).map(move |end| (start, end))) {
            let mut read = vec![0; end - start];
            memory.lend(start..end).copy_to_slice(0, &mut read);
            assert_eq!(read, packed[start..end], "{start}..{end}");
        }
        memory.lend_mut(3..6).copy_from_slice(0, &[50, 80, 90]);
        assert_eq!(bytes[4..14], [4, 50, 6, 7, 80, 90, 10, 11, 12, 13]);
    }

    #[test]
    #[should_panic(expected = "2..6 is not within one part of the memory")]
    fn no_range_across_parts_is_lent() {
        columns(&mut [0; 8]).lend(2..6);
    }

    #[test]
    #[should_panic(expected = "outside of")]
    fn a_part_outside_of_the_memory_is_refused() {
        columns(&mut [0; 7]).lend(1..3);
    }

    #[test]
    #[should_panic(expected = "only read")]
    fn memory_that_is_read_is_not_filled() {
        let part = MemoryPart { layout: Arc::new(Layout::block(4)), count: 1, place: 0 };
        // SAFETY: as above.
        let raw = unsafe { Raw::new([0u8; 4].as_ptr(), 0, 4) };
        PartedMemory::of(raw, [part]).lend_mut(0..4);
    }
}
