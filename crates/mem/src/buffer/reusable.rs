//! Memory of the program that is lent repeatedly: by persistent operations, and for successive buffered
//! sends.
//!
//! Owns the only value of its promise. While it is lent it can neither be read nor lent again: both are
//! checked.

use std::sync::Arc;

use super::raw::HasBounds;
use super::{InBuffer, Lent, OutBuffer, RawMut};
use crate::layout::Layout;

/// Memory that is lent as a whole, once per return.
#[derive(Debug)]
pub struct ReusableMemory {
    raw: RawMut,
    lent: bool,
}

impl ReusableMemory {
    /// Makes memory that can be lent.
    pub fn new(raw: RawMut) -> Self {
        Self { raw, lent: false }
    }

    /// Returns the memory.
    ///
    /// # Panics
    /// The memory is lent.
    pub fn raw(&mut self) -> &mut RawMut {
        assert!(!self.lent, "the memory is lent");
        &mut self.raw
    }

    /// Returns the memory to its owner.
    ///
    /// # Panics
    /// The memory is lent.
    pub fn into_raw(self) -> RawMut {
        assert!(!self.lent, "the memory is lent");
        self.raw
    }

    /// Lends the bytes at `at` to be sent.
    ///
    /// # Panics
    /// The memory is lent, or the bytes lie outside of it.
    pub fn lend(&mut self, at: isize, len: usize) -> OutBuffer {
        let lent = self.raw().bounds().lent(at, len);
        OutBuffer(self.out(lent))
    }

    /// Lends `count` elements to be filled.
    ///
    /// # Panics
    /// The memory is lent, or the elements lie outside of it.
    pub fn lend_mut(&mut self, layout: &Arc<Layout>, count: usize) -> InBuffer {
        let lent = layout.lent(self.raw().bounds(), count);
        InBuffer(self.out(lent))
    }

    fn out(&mut self, lent: Lent) -> Lent {
        self.lent = true;
        Lent { lender: self.lender(), ..lent }
    }

    fn lender(&self) -> *const () {
        self.raw.bounds().lender()
    }

    fn returned(&mut self, lent: Lent) {
        assert!(self.lent, "a buffer came back that was not lent");
        lent.assert_returned_to(self.lender());
        self.lent = false;
    }

    /// Takes the token back: the operation has ended.
    pub fn take_back(&mut self, buffer: OutBuffer) {
        self.returned(buffer.0);
    }

    /// Takes the token back: the operation has ended. A token of the region that contains the memory has no
    /// lender and is dropped.
    pub fn take_back_mut(&mut self, buffer: InBuffer) {
        if !buffer.is_region() {
            self.returned(buffer.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Readable;

    /// Makes reusable memory for a test. The bytes outlive the result.
    fn reusable(bytes: &mut [u8]) -> ReusableMemory {
        // SAFETY: the tests touch their memory through this value alone until they are done with it.
        ReusableMemory::new(unsafe { RawMut::new(bytes.as_mut_ptr(), 0, bytes.len() as isize) })
    }

    #[test]
    fn memory_is_lent_again_once_it_is_back() {
        let mut bytes = [0; 8];
        let mut memory = reusable(&mut bytes);
        let layout = Arc::new(Layout::block(2).repeated(2, 4).unwrap());
        for turn in 1..3 {
            let mut buffer = memory.lend_mut(&layout, 1);
            buffer.copy_from_slice(0, &[turn; 4]);
            memory.take_back_mut(buffer);
            assert_eq!(memory.raw().bytes(0, 8), [turn, turn, 0, 0, turn, turn, 0, 0]);
        }
    }

    #[test]
    #[should_panic(expected = "the memory is lent")]
    fn memory_is_lent_once_at_a_time() {
        let mut bytes = [0; 8];
        let mut memory = reusable(&mut bytes);
        let layout = Arc::new(Layout::block(8));
        let _buffers = [memory.lend_mut(&layout, 1), memory.lend_mut(&layout, 1)];
    }

    #[test]
    #[should_panic(expected = "another lender")]
    fn memory_takes_only_its_own_buffer_back() {
        let (mut one, mut other) = ([0; 8], [0; 8]);
        let (mut one, mut other) = (reusable(&mut one), reusable(&mut other));
        let layout = Arc::new(Layout::block(8));
        let (_first, second) = (one.lend_mut(&layout, 1), other.lend_mut(&layout, 1));
        one.take_back_mut(second);
    }

    #[test]
    #[should_panic(expected = "another lender")]
    fn parts_of_one_memory_take_only_their_own_buffers_back() {
        let mut bytes = [0; 8];
        let mut head = reusable(&mut bytes).into_raw();
        let tail = head.split_off(4);
        let (mut head, mut tail) = (ReusableMemory::new(head), ReusableMemory::new(tail));
        let (first, _second) = (head.lend(0, 4), tail.lend(4, 4));
        tail.take_back(first);
    }

    #[test]
    #[should_panic(expected = "another lender")]
    fn a_part_without_bytes_is_another_lender_than_what_follows() {
        let mut bytes = [0; 8];
        let mut head = reusable(&mut bytes).into_raw();
        let tail = head.split_off(0);
        let (mut head, mut tail) = (ReusableMemory::new(head), ReusableMemory::new(tail));
        let (nothing, _all) = (head.lend(0, 0), tail.lend(0, 8));
        tail.take_back(nothing);
    }

    #[test]
    fn memory_is_cut_and_joined() {
        let mut bytes = [0; 8];
        let mut head = reusable(&mut bytes).into_raw();
        let mut middle = head.split_off(2);
        let mut tail = middle.split_off(5);
        head.bytes_mut(0, 2).fill(1);
        middle.bytes_mut(2, 3).fill(2);
        tail.bytes_mut(5, 3).fill(3);
        let tail = head.join(tail).unwrap_err();
        head.join(middle).unwrap();
        head.join(tail).unwrap();
        assert_eq!(head.bytes(0, 8), [1, 1, 2, 2, 2, 3, 3, 3]);
    }
}
