//! Memory of the library's own that is worked on as a whole and lent in parts, in turns.
//!
//! Owns the words. While a part is lent none of it can be looked at, and no part is lent that another one would write:
//! both are checked. Dropped while lent it is leaked, not freed.

use std::ops::Range;
use std::ptr::NonNull;

use super::{InBuffer, Lent, OutBuffer};

/// A number of bytes, aligned for any element.
#[derive(Default)]
pub struct Divided {
    words: Vec<u128>,
    len: usize,
    /// The parts that are lent to be filled, in the order of their places.
    filling: Vec<Range<usize>>,
    /// Parts that are out, for reading or writing.
    lent: usize,
    /// Of these, those to be sent.
    sending: usize,
}

impl Divided {
    /// So many bytes, all 0.
    pub fn new(len: usize) -> Self {
        let mut divided = Self::default();
        divided.reserve(len);
        divided
    }

    /// At least so many bytes; those that were there stay.
    #[inline(always)]
    pub fn reserve(&mut self, len: usize) {
        if len > self.len {
            self.grow(len);
        }
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        assert_eq!(self.lent, 0, "memory that is lent does not move");
        self.words.resize(len.div_ceil(size_of::<u128>()), 0);
        self.len = len;
    }

    /// All of it, while no part is lent.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        assert_eq!(self.lent, 0, "a part of the memory is lent");
        &bytemuck::cast_slice(&self.words)[..self.len]
    }

    /// The same, to be changed.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        assert_eq!(self.lent, 0, "a part of the memory is lent");
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }

    /// Lends a part to be filled; before any is lent to be sent.
    ///
    /// # Panics
    /// It overlaps another such part, or parts are lent to be sent.
    pub fn lend_mut(&mut self, part: Range<usize>) -> InBuffer {
        assert_eq!(self.sending, 0, "parts to be filled are lent before those to be sent");
        if !part.is_empty() {
            let at = self.filling.partition_point(|other| other.start < part.start);
            let before = at.checked_sub(1).map_or(0, |at| self.filling[at].end);
            let behind = self.filling.get(at).map_or(usize::MAX, |next| next.start);
            assert!(before <= part.start && part.end <= behind, "parts to be filled overlap at {part:?}");
            self.filling.insert(at, part.clone());
        }
        InBuffer(self.lend_part(part))
    }

    /// Lends a part to be sent.
    ///
    /// # Panics
    /// It overlaps a part that is lent to be filled.
    pub fn lend(&mut self, part: Range<usize>) -> OutBuffer {
        let behind = self.filling.partition_point(|other| other.end <= part.start);
        let next = self.filling.get(behind).map_or(usize::MAX, |next| next.start);
        assert!(part.is_empty() || part.end <= next, "a part to be sent is being filled at {part:?}");
        self.sending += 1;
        OutBuffer(self.lend_part(part))
    }

    fn lend_part(&mut self, part: Range<usize>) -> Lent {
        assert!(part.start <= part.end && part.end <= self.len, "{part:?} of {} bytes", self.len);
        self.lent += 1;
        let first = NonNull::new(self.words.as_mut_ptr()).unwrap_or(NonNull::dangling()).cast::<u8>();
        // SAFETY: the part lies within the words, checked above.
        let start = unsafe { first.add(part.start) };
        Lent::one(start, part.len(), self.lender())
    }

    fn lender(&self) -> *const () {
        self.words.as_ptr().cast()
    }

    fn returned(&mut self, lent: Lent) {
        lent.assert_returned_to(self.lender());
        self.lent = self.lent.checked_sub(1).expect("a buffer came back that was not lent");
        if self.lent == 0 {
            self.sending = 0;
            self.filling.clear();
        }
    }

    /// Takes a token back: the operation has ended.
    pub fn take_back(&mut self, buffer: OutBuffer) {
        self.returned(buffer.0);
    }

    /// Takes a token back: the operation has ended.
    pub fn take_back_mut(&mut self, buffer: InBuffer) {
        self.returned(buffer.0);
    }
}

impl From<&[u8]> for Divided {
    fn from(bytes: &[u8]) -> Self {
        let mut divided = Self::new(bytes.len());
        divided.bytes_mut().copy_from_slice(bytes);
        divided
    }
}

impl Drop for Divided {
    fn drop(&mut self) {
        if self.lent > 0 {
            std::mem::forget(std::mem::take(&mut self.words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_filled_and_sent_apart_from_each_other() {
        let mut divided = Divided::from(&[1u8, 2, 3, 4, 5, 6, 7, 8][..]);
        let mut filled = [6..8, 2..4, 4..4, 4..6].map(|part| divided.lend_mut(part));
        let sent = [divided.lend(0..2), divided.lend(1..2), divided.lend(3..3)];
        filled[1].copy_from_slice(0, &[30, 40]);
        let mut read = [0; 2];
        sent[0].copy_to_slice(0, &mut read);
        assert_eq!(read, [1, 2]);
        sent.into_iter().for_each(|buffer| divided.take_back(buffer));
        filled.into_iter().for_each(|buffer| divided.take_back_mut(buffer));
        assert_eq!(divided.bytes(), [1, 2, 30, 40, 5, 6, 7, 8]);
        let again = divided.lend_mut(0..8);
        divided.take_back_mut(again);
    }

    #[test]
    #[should_panic(expected = "overlap")]
    fn a_part_is_filled_by_one_only() {
        let mut divided = Divided::new(8);
        let _buffers = [0..4, 3..5].map(|part| divided.lend_mut(part));
    }

    #[test]
    #[should_panic(expected = "is being filled")]
    fn what_is_filled_is_not_sent() {
        let mut divided = Divided::new(8);
        let _filled = [divided.lend_mut(0..2), divided.lend_mut(4..6)];
        let _sent = divided.lend(1..5);
    }

    #[test]
    #[should_panic(expected = "is lent")]
    fn what_is_lent_is_not_looked_at() {
        let mut divided = Divided::new(8);
        let _part = divided.lend(0..1);
        divided.bytes();
    }
}
