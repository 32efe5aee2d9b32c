//! Memory that is used as a whole and lent in parts, in turns: words of the library's own, or memory of the
//! program.
//!
//! Owns the words, or the only value of the program's promise. While a part is lent, no byte can be read
//! here. A part that overlaps a lent one is refused if either is written. Both rules are checked. Words that
//! are dropped while lent are leaked.

use std::ops::Range;
use std::ptr::NonNull;

use super::raw::HasBounds;
use super::{InBuffer, Lent, OutBuffer, RawMut};

/// Address of empty memory, aligned for any element.
const NOTHING: NonNull<u8> = NonNull::<u128>::dangling().cast();

/// A range of bytes; in memory of the library the first byte is aligned for any element.
pub struct Divided {
    /// Origin of offsets; null for memory of the program that is named by absolute addresses.
    start: *mut u8,
    /// The accessible bytes, as offsets from `start`.
    range: Range<usize>,
    /// The library's own memory, accessed through `start` only; none for memory of the program.
    words: Option<Vec<u128>>,
    /// The parts that are lent to be filled, in ascending order.
    filling: Vec<Range<usize>>,
    /// Number of lent parts.
    lent: usize,
    /// Number of lent parts that are sent.
    sending: usize,
}

// SAFETY: the memory is exclusively of this value, whichever thread holds it.
unsafe impl Send for Divided {}
// SAFETY: a shared reference only reads.
unsafe impl Sync for Divided {}

impl Default for Divided {
    fn default() -> Self {
        let (words, filling) = (Some(Vec::new()), Vec::new());
        Self { start: NOTHING.as_ptr(), range: 0..0, words, filling, lent: 0, sending: 0 }
    }
}

impl Divided {
    /// Makes `len` zero bytes.
    pub fn new(len: usize) -> Self {
        let mut divided = Self::default();
        divided.reserve(len);
        divided
    }

    /// Takes the program's memory from its address on; offsets are counted from there.
    pub fn of(raw: RawMut) -> Self {
        let bounds = raw.bounds();
        Self {
            start: bounds.start(),
            range: bounds.behind(),
            words: None,
            filling: Vec::new(),
            lent: 0,
            sending: 0,
        }
    }

    /// Grows the library's own memory to at least `len` bytes; existing bytes stay.
    ///
    /// # Panics
    /// The memory is the program's and cannot grow, or a part is lent.
    #[inline(always)]
    pub fn reserve(&mut self, len: usize) {
        if len > self.range.end {
            self.grow(len);
        }
    }

    #[cold]
    fn grow(&mut self, len: usize) {
        assert_eq!(self.lent, 0, "memory that is lent does not move");
        let words = self.words.as_mut().expect("memory of the program does not grow");
        let needed = len.div_ceil(size_of::<u128>());
        match words.is_empty() {
            // New pages of the kernel are zero already.
            true => *words = vec![0; needed],
            false => words.resize(needed, 0),
        }
        self.start = words.as_mut_ptr().cast();
        self.range = 0..len;
    }

    /// Returns all bytes while no part is lent. In memory of the program they begin with the first accessible
    /// byte.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        self.part(self.range.clone())
    }

    /// Returns all bytes for writing, while no part is lent.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.part_mut(self.range.clone())
    }

    /// Returns a part while none is lent.
    #[inline(always)]
    pub fn part(&self, part: Range<usize>) -> &[u8] {
        let start = self.look_at(&part);
        // SAFETY: the part lies within the memory, of which nothing is lent; it is borrowed with this value.
        unsafe { std::slice::from_raw_parts(start.as_ptr(), part.len()) }
    }

    /// Returns a part for writing, while none is lent.
    #[inline(always)]
    pub fn part_mut(&mut self, part: Range<usize>) -> &mut [u8] {
        let start = self.look_at(&part);
        // SAFETY: as in `part`; this value is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), part.len()) }
    }

    /// Returns one part for reading and one for writing.
    ///
    /// # Panics
    /// The parts overlap.
    #[inline(always)]
    pub fn apart(&mut self, from: Range<usize>, into: Range<usize>) -> (&[u8], &mut [u8]) {
        let (read, write) = (self.look_at(&from), self.look_at(&into));
        let apart = from.end <= into.start || into.end <= from.start || from.is_empty() || into.is_empty();
        assert!(apart, "{from:?} and {into:?} overlap");
        // SAFETY: as in `part_mut`, and the parts do not overlap.
        unsafe {
            (
                std::slice::from_raw_parts(read.as_ptr(), from.len()),
                std::slice::from_raw_parts_mut(write.as_ptr(), into.len()),
            )
        }
    }

    /// Returns the address of a part to access.
    #[inline(always)]
    fn look_at(&self, part: &Range<usize>) -> NonNull<u8> {
        assert_eq!(self.lent, 0, "a part of the memory is lent");
        self.address(part)
    }

    /// Returns the address of a part, which must lie in the memory unless it is empty.
    #[inline(always)]
    fn address(&self, part: &Range<usize>) -> NonNull<u8> {
        if part.is_empty() {
            return NOTHING;
        }
        assert!(self.range.start <= part.start && part.end <= self.range.end, "{part:?} of {:?}", self.range);
        NonNull::new(self.start.wrapping_add(part.start)).expect("memory has an address")
    }

    /// Lends a part to be filled. Such parts are lent before parts to be sent.
    ///
    /// # Panics
    /// The part overlaps another one to be filled, or parts are lent to be sent.
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
    /// The part overlaps a part that is lent to be filled.
    pub fn lend(&mut self, part: Range<usize>) -> OutBuffer {
        let behind = self.filling.partition_point(|other| other.end <= part.start);
        let next = self.filling.get(behind).map_or(usize::MAX, |next| next.start);
        assert!(part.is_empty() || part.end <= next, "a part to be sent is being filled at {part:?}");
        self.sending += 1;
        OutBuffer(self.lend_part(part))
    }

    fn lend_part(&mut self, part: Range<usize>) -> Lent {
        let start = self.address(&part);
        self.lent += 1;
        Lent::one(start, part.len(), self.lender())
    }

    /// Returns the address of the first byte; all empty memory is one lender.
    fn lender(&self) -> *const () {
        self.address(&self.range).as_ptr().cast_const().cast()
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
            std::mem::forget(self.words.take());
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

    #[test]
    fn memory_of_the_program_is_divided_where_it_lies() {
        let mut bytes = [7u8; 8];
        // SAFETY: the bytes are touched through the value alone as long as it is used.
        let mut divided = Divided::of(unsafe { RawMut::new(bytes.as_mut_ptr(), 2, 8) });
        divided.part_mut(2..4).copy_from_slice(&[1, 2]);
        let (from, into) = divided.apart(2..4, 4..6);
        into.copy_from_slice(from);
        let mut filled = divided.lend_mut(6..8);
        filled.copy_from_slice(0, &[8, 9]);
        let nothing = divided.lend(100..100);
        divided.take_back(nothing);
        divided.take_back_mut(filled);
        assert_eq!(divided.bytes(), [1, 2, 1, 2, 8, 9]);
        divided.bytes_mut()[0] = 5;
        assert_eq!(bytes, [7, 7, 5, 2, 1, 2, 8, 9]);
    }

    #[test]
    #[should_panic(expected = "another lender")]
    fn parts_of_one_memory_take_only_their_own_buffers_back() {
        let mut head = RawMut::of(vec![0; 8].leak(), 0);
        let tail = head.split_off(4);
        let (mut head, mut tail) = (Divided::of(head), Divided::of(tail));
        let (first, _second) = (head.lend(0..4), tail.lend(4..8));
        tail.take_back(first);
    }

    #[test]
    fn places_may_be_absolute_addresses() {
        let bytes: &'static mut [u8] = vec![1, 2, 3, 4].leak();
        let at = bytes.as_ptr().addr();
        let start = bytes.as_mut_ptr().wrapping_sub(at);
        // SAFETY: the memory is never freed and used by no other code; as MPI_BOTTOM, the address is null and the places are addresses.
        let mut divided = Divided::of(unsafe { RawMut::new(start, at as isize, at as isize + 4) });
        divided.part_mut(at + 1..at + 3).copy_from_slice(&[8, 9]);
        assert_eq!(divided.part(at..at + 4), [1, 8, 9, 4]);
    }

    #[test]
    #[should_panic(expected = "memory of the program does not grow")]
    fn memory_of_the_program_without_bytes_stays_so() {
        let mut bytes = [0u8; 8];
        // SAFETY: no byte is touched.
        Divided::of(unsafe { RawMut::new(bytes.as_mut_ptr(), 0, 0) }).reserve(1);
    }

    #[test]
    fn no_bytes_are_aligned_too() {
        assert!(bytemuck::cast_slice::<u8, u64>(Divided::new(0).bytes()).is_empty());
        assert!(bytemuck::cast_slice::<u8, u64>(Divided::new(8).part(3..3)).is_empty());
    }

    #[test]
    #[should_panic(expected = "1..3 of 2..8")]
    fn what_the_program_did_not_give_is_not_touched() {
        let mut bytes = [0u8; 8];
        // SAFETY: as above.
        let divided = Divided::of(unsafe { RawMut::new(bytes.as_mut_ptr(), 2, 8) });
        divided.part(1..3);
    }

    #[test]
    #[should_panic(expected = "overlap")]
    fn parts_apart_do_not_overlap() {
        Divided::new(8).apart(0..4, 3..5);
    }
}
