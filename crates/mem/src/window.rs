//! Memory that another process may read or write at any time.
//!
//! Owns nothing. The layers above the drivers access shared memory only through a [`Window`]. Bytes are
//! copied in or out, and no reference to them is handed out. So writes of other processes or threads can
//! change values but never break this process (invariant I3). A copy accesses each byte of the window once
//! (`racing.rs`): bytes that were copied out and checked cannot change.

#[cfg(not(loom))]
use std::io;
use std::marker::PhantomData;
#[cfg(not(loom))]
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};

use canele_sys::atomic::AtomicU64;
#[cfg(not(loom))]
use canele_sys::file_io;

use crate::atomic_element::AtomicElement;
use crate::lane_type::LaneType;
use crate::{backwards, past_cache, racing};

/// A bounded stretch of bytes that may be shared with another process; copied in and out, never borrowed.
#[derive(Clone, Copy)]
pub struct Window<'a> {
    pub(crate) start: NonNull<u8>,
    len: usize,
    manner: Manner,
    memory: PhantomData<&'a ()>,
}

/// The way of copying bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Plain,
    /// Writes go past the caches.
    PastCache,
    /// Reads start at the end.
    Backwards,
}

impl<'a> Window<'a> {
    /// Makes the window on `len` bytes from `start`.
    ///
    /// # Safety
    /// The bytes must stay mapped, readable and writable for `'a`, and no Rust reference to them may exist while the
    /// window is used. Other processes, and other threads through windows, may write them at any time.
    pub unsafe fn new(start: NonNull<u8>, len: usize) -> Self {
        Self { start, len, manner: Manner::Plain, memory: PhantomData }
    }

    /// Returns the window with writes past the caches, to memory.
    pub fn past_cache(self) -> Self {
        Self { manner: Manner::PastCache, ..self }
    }

    /// Returns the window with reads from the end, for memory behind which another process will write next.
    #[inline(always)]
    pub fn backwards(self) -> Self {
        Self { manner: Manner::Backwards, ..self }
    }

    /// Makes a window on memory of this process that no other code uses while the window lives.
    #[inline(always)]
    pub fn on(bytes: &'a mut [u8]) -> Self {
        let len = bytes.len();
        // SAFETY: the exclusive borrow lasts for `'a` and is given up to the window, the only way to the bytes from now on.
        unsafe { Self::new(NonNull::from_mut(bytes).cast(), len) }
    }

    /// Makes an empty window.
    pub const fn empty() -> Self {
        Self { start: NonNull::dangling(), len: 0, manner: Manner::Plain, memory: PhantomData }
    }

    /// Returns its length in bytes.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the part of `len` bytes from `offset`; none if it lies outside.
    #[inline]
    pub fn part(&self, offset: usize, len: usize) -> Option<Window<'a>> {
        let end = offset.checked_add(len)?;
        if end > self.len {
            return None;
        }
        // SAFETY: offset <= end <= self.len, so the part lies in the same stretch of memory.
        Some(unsafe { Window { start: self.start.add(offset), len, ..*self } })
    }

    /// Copies `bytes` in at `offset`.
    ///
    /// # Panics
    /// The bytes do not fit. Callers check lengths before they request a window.
    #[inline(always)]
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset <= self.len && bytes.len() <= self.len - offset, "write outside of a window");
        // SAFETY: the range was checked; a slice of this process and the window's memory do not overlap, because no
        // reference to the window's memory exists (`new`). What others write meanwhile may be torn.
        unsafe { self.fill(offset, bytes.as_ptr(), bytes.len()) }
    }

    /// Adds numbers to those from `offset` on, and returns the number of bytes added, from the first on. It
    /// is 0 if the processor lacks the instructions. If other threads change the numbers meanwhile, the
    /// values are arbitrary.
    ///
    /// # Panics
    /// The window has fewer bytes.
    pub fn add(&self, offset: usize, numbers: LaneType, bytes: &[u8]) -> usize {
        assert!(offset <= self.len && bytes.len() <= self.len - offset, "sums outside of a window");
        #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri), not(loom)))]
        {
            let len = bytes.len() / racing::sums::LINE * racing::sums::LINE;
            // SAFETY: the range was checked; the rest as in `write`.
            unsafe { racing::sums::add(numbers, self.start.as_ptr().add(offset), bytes.as_ptr(), len) };
            len
        }
        #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri), not(loom))))]
        {
            let _ = numbers;
            0
        }
    }

    /// Copies bytes out from `offset` until `bytes` is full.
    ///
    /// # Panics
    /// The window has fewer bytes.
    #[inline(always)]
    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        assert!(offset <= self.len && bytes.len() <= self.len - offset, "read outside of a window");
        // SAFETY: as in `write`.
        unsafe { self.drain(offset, bytes.as_mut_ptr(), bytes.len()) }
    }

    /// Reads `N` words from `offset` on, little-endian.
    ///
    /// # Panics
    /// The window has fewer bytes.
    #[inline(always)]
    pub fn read_words<const N: usize>(&self, offset: usize) -> [u64; N] {
        let mut words = [0u64; N];
        assert!(offset <= self.len && 8 * N <= self.len - offset, "read outside of a window");
        for (n, word) in words.iter_mut().enumerate() {
            // SAFETY: the range was checked. Word by word, each of which may stay in a register.
            unsafe { racing::load(ptr::from_mut(word).cast(), self.start.as_ptr().add(offset + 8 * n), 8) }
        }
        words.map(u64::from_le)
    }

    /// Writes words from `offset` on, little-endian.
    ///
    /// # Panics
    /// The words do not fit.
    #[inline(always)]
    pub fn write_words(&self, offset: usize, words: &[u64]) {
        assert!(offset <= self.len && 8 * words.len() <= self.len - offset, "write outside of a window");
        for (n, word) in words.iter().enumerate() {
            let word = word.to_le();
            // SAFETY: the range was checked.
            unsafe { racing::store(self.start.as_ptr().add(offset + 8 * n), ptr::from_ref(&word).cast(), 8) }
        }
    }

    /// Returns the aligned 64-bit word at `offset`, for atomic operations; none if it lies outside or is not
    /// aligned.
    pub fn word(&self, offset: usize) -> Option<&'a AtomicU64> {
        let word = self.part(offset, size_of::<u64>())?.start.cast::<AtomicU64>();
        if !word.is_aligned() {
            return None;
        }
        // SAFETY: inside the window, whose memory stays mapped for `'a` and has no other references than to atomics; aligned.
        Some(unsafe { word.as_ref() })
    }

    /// Hints that another processor reads these bytes next: the processor moves their lines to the shared
    /// cache. On a processor without such a hint this does nothing.
    #[inline(always)]
    pub fn demote(&self) {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        for offset in (0..self.len).step_by(64) {
            // SAFETY: inside the window, whose memory is mapped. A hint, which changes no memory; processors without it take it for no operation.
            unsafe {
                let line = self.start.add(offset);
                std::arch::asm!("cldemote [{}]", in(reg) line.as_ptr(), options(nostack, preserves_flags));
            }
        }
    }

    /// Prefetches these bytes.
    #[inline(always)]
    pub fn prefetch(&self) {
        #[cfg(all(target_arch = "aarch64", not(miri)))]
        for offset in (0..self.len).step_by(64) {
            // SAFETY: inside the window. A hint, which changes no memory.
            unsafe {
                let line = self.start.add(offset);
                std::arch::asm!("prfm pldl1keep, [{}]", in(reg) line.as_ptr(), options(nostack, preserves_flags, readonly));
            }
        }
        #[cfg(target_arch = "x86_64")]
        for offset in (0..self.len).step_by(64) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a hint, which neither reads nor writes; any address may be given.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(self.start.as_ptr().add(offset).cast()) };
        }
    }

    /// Returns the aligned element of `size` bytes at `offset`, for atomic operations. It is none outside of
    /// the window, if not aligned, or for a size without atomic operations.
    #[inline(always)]
    pub fn element(&self, offset: usize, size: usize) -> Option<AtomicElement<'a>> {
        let start = self.part(offset, size)?.start;
        // A mask is used, because a division takes longer than the operation.
        if !matches!(size, 1 | 2 | 4 | 8) || start.addr().get() & (size - 1) != 0 {
            return None;
        }
        // SAFETY: inside the window, whose memory stays mapped for `'a` and has no other references than to atomics; aligned.
        unsafe {
            Some(match size {
                1 => AtomicElement::One(start.cast().as_ref()),
                2 => AtomicElement::Two(start.cast().as_ref()),
                4 => AtomicElement::Four(start.cast().as_ref()),
                _ => AtomicElement::Eight(start.cast().as_ref()),
            })
        }
    }

    /// Copies `len` bytes in at `offset`.
    ///
    /// # Safety
    /// The window has room for them there; `from` can be read, and is not the window's memory.
    #[inline(always)]
    pub(crate) unsafe fn fill(&self, offset: usize, from: *const u8, len: usize) {
        // SAFETY: as the caller says.
        unsafe {
            let to = self.start.as_ptr().add(offset);
            if self.manner == Manner::PastCache {
                past_cache::copy(to, from, len)
            } else {
                racing::store(to, from, len)
            }
        }
    }

    /// Copies `len` bytes out from `offset`.
    ///
    /// # Safety
    /// The window has them; `to` can be written, and is not the window's memory.
    #[inline(always)]
    pub(crate) unsafe fn drain(&self, offset: usize, to: *mut u8, len: usize) {
        // SAFETY: as the caller says.
        unsafe {
            let from = self.start.as_ptr().add(offset);
            // Up to 64 bytes lie in one or two lines, so their order does not matter.
            if self.manner == Manner::Backwards && len > 64 {
                backwards::copy(to, from, len)
            } else {
                racing::load(to, from, len)
            }
        }
    }

    /// Writes the whole window to a file.
    ///
    /// # Errors
    /// The system reports an error; bytes written before stay.
    #[cfg(not(loom))]
    pub fn write_to_file(&self, file: BorrowedFd<'_>, offset: u64) -> io::Result<()> {
        // SAFETY: the bytes stay mapped and readable as long as the window lives; no reference to them is made.
        unsafe { file_io::write_all(file, self.start.as_ptr(), self.len, offset) }
    }

    /// Fills the window from a file, up to the end of the file, and returns the number of bytes.
    ///
    /// # Errors
    /// The system reports an error.
    #[cfg(not(loom))]
    pub fn read_from_file(&self, file: BorrowedFd<'_>, offset: u64) -> io::Result<usize> {
        // SAFETY: the bytes stay mapped and writable as long as the window lives; no reference to them is made.
        unsafe { file_io::read_full(file, self.start.as_ptr(), self.len, offset) }
    }

    /// Returns the address of the first byte.
    #[cfg(test)]
    pub(crate) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Does [`Window::fill`] from memory that others may access too.
    ///
    /// # Safety
    /// The window has room for them there; `from` can be read, and may overlap the window's memory unless that is written past the caches.
    pub(crate) unsafe fn fill_shared(&self, offset: usize, from: *const u8, len: usize) {
        // SAFETY: as the caller says.
        unsafe {
            let to = self.start.as_ptr().add(offset);
            match self.manner {
                Manner::PastCache => past_cache::transfer(to, from, len),
                _ => racing::transfer(to, from, len),
            }
        }
    }

    /// Does [`Window::drain`] to memory that others may access too.
    ///
    /// # Safety
    /// The window has them; `to` can be written, and may overlap the window's memory unless that is read from its end.
    pub(crate) unsafe fn drain_shared(&self, offset: usize, to: *mut u8, len: usize) {
        // SAFETY: as the caller says.
        unsafe {
            let from = self.start.as_ptr().add(offset);
            match self.manner {
                Manner::Backwards => backwards::transfer(to, from, len),
                _ => racing::transfer(to, from, len),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_up_to_a_few_cells_is_copied_exactly() {
        for len in (0..200usize).step_by(if cfg!(miri) { 13 } else { 1 }) {
            let source: Vec<u8> = (0..len).map(|i| i as u8 ^ 0x5a).collect();
            let mut memory = vec![0xeeu8; len + 16];
            // SAFETY: `memory` outlives the window and is not touched through its name meanwhile.
            let window = unsafe { Window::new(NonNull::new(memory.as_mut_ptr()).unwrap().add(8), len) };
            window.write(0, &source);
            let mut back = vec![0; len];
            window.read(0, &mut back);
            assert_eq!(back, source);
            assert!(memory[..8].iter().chain(&memory[8 + len..]).all(|&b| b == 0xee), "length {len} spilled");
        }
    }

    #[test]
    fn what_goes_past_the_caches_arrives_in_parts_too() {
        let mut memory = vec![0u8; 300];
        let window = Window::on(&mut memory).past_cache();
        window.write(0, &[1; 100]);
        window.part(100, 150).unwrap().write(3, &[2; 140]);
        let expected = [vec![1; 100], vec![0; 3], vec![2; 140], vec![0; 57]].concat();
        assert_eq!(memory, expected);
    }

    #[test]
    fn what_is_read_backwards_is_the_same() {
        let mut memory: Vec<u8> = (0..1000u32).map(|i| (i * 3) as u8).collect();
        let expected = memory.clone();
        let window = Window::on(&mut memory).backwards();
        let mut back = [0; 700];
        window.part(100, 800).unwrap().read(50, &mut back);
        assert_eq!(back, expected[150..850]);
    }

    #[test]
    #[should_panic(expected = "write outside")]
    fn a_write_past_the_end_panics() {
        let mut memory = [0u8; 8];
        // SAFETY: as above.
        let window = unsafe { Window::new(NonNull::new(memory.as_mut_ptr()).unwrap(), 8) };
        window.write(4, &[0; 5]);
    }

    #[test]
    fn a_part_outside_is_refused() {
        let mut memory = [0u8; 8];
        // SAFETY: as above.
        let window = unsafe { Window::new(NonNull::new(memory.as_mut_ptr()).unwrap(), 8) };
        assert!(window.part(4, 4).is_some());
        assert!(window.part(4, 5).is_none());
        assert!(window.part(usize::MAX, 2).is_none());
    }
}
