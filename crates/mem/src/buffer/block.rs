//! Writable bytes of a caller in another language, given by address and length. A value is half as long as a
//! [`RawMut`], whose offsets and parts a message of a few bytes does not need.

use std::ptr::NonNull;

use super::{InBuffer, RawMut};

/// Bytes of the program that only the holder of this value writes: at most 4 GiB.
#[derive(Debug)]
pub struct RawBlock {
    start: NonNull<u8>,
    len: u32,
}

// SAFETY: an address; what is promised about the memory behind it does not depend on the thread.
unsafe impl Send for RawBlock {}

impl RawBlock {
    /// Makes a block of the `len` bytes from `start`.
    ///
    /// # Safety
    /// The bytes stay mapped as long as this value, a view or a buffer made of it is in use. Meanwhile they
    /// are read and written only through it.
    #[inline(always)]
    pub unsafe fn new(start: *mut u8, len: u32) -> Self {
        Self { start: NonNull::new(start).unwrap_or(NonNull::dangling()), len }
    }

    /// Makes a block of memory that is never freed.
    ///
    /// # Panics
    /// The memory is longer than 4 GiB.
    pub fn of(bytes: &'static mut [u8]) -> Self {
        let len = u32::try_from(bytes.len()).expect("at most 4 GiB");
        Self { start: NonNull::from(bytes).cast(), len }
    }

    /// Returns the number of bytes.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes for writing.
    #[inline(always)]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the maker promised it, and this value, the only one of the promise, is borrowed exclusively as long as the view. Any address that is
        // not null will do for no bytes.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len()) }
    }

    /// Lends the bytes to be filled.
    pub fn lend_mut(self) -> InBuffer {
        // SAFETY: as the maker of this value promised, which is consumed.
        unsafe { RawMut::new(self.start.as_ptr(), 0, self.len() as isize) }.lend_mut(0, self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_written_in_place_and_lent_as_a_whole() {
        let mut block = RawBlock::of(vec![1; 8].leak());
        block.bytes_mut()[7] = 9;
        assert_eq!((block.len(), block.bytes_mut()[7]), (8, 9));
        assert_eq!(block.lend_mut().len(), 8);
        // SAFETY: there are no bytes.
        let mut none = unsafe { RawBlock::new(std::ptr::null_mut(), 0) };
        assert!(none.is_empty() && none.bytes_mut().is_empty());
    }
}
