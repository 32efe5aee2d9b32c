//! Memory of a caller in another language, known by its address.
//!
//! Owns nothing: it is the caller's promise, made once where the address enters ([`Raw::new`]), that the library may touch
//! this range until the operation has ended. Whoever holds it keeps to the range, which is checked.

use std::ptr::NonNull;

use super::{InBuffer, Lent, OutBuffer};

/// A range of bytes around an address: from `low` to `high` relative to it, which may be negative.
#[derive(Clone, Copy, Debug)]
pub struct Raw {
    start: *mut u8,
    low: isize,
    high: isize,
}

// SAFETY: an address; what is promised about the memory behind it does not depend on the thread.
unsafe impl Send for Raw {}
// SAFETY: as above.
unsafe impl Sync for Raw {}

impl Raw {
    /// The bytes from `start + low` to `start + high`.
    ///
    /// # Safety
    /// Until everything made of it is gone, they may be read and, where the holder of this value is to receive, written;
    /// the program does not write what is being read, nor touch what is being written, meanwhile. Bytes in gaps between
    /// what an operation moves are not touched.
    #[inline(always)]
    pub unsafe fn new(start: *mut u8, low: isize, high: isize) -> Self {
        Self { start, low, high: high.max(low) }
    }

    /// Memory of this process that is never freed, with offsets counted from `origin` bytes behind its start; for tests of what
    /// works on memory that others give.
    pub fn leaked(bytes: Vec<u8>, origin: usize) -> Self {
        let bytes = bytes.leak();
        let (low, high) = (-(origin as isize), bytes.len() as isize - origin as isize);
        Self { start: bytes.as_mut_ptr().wrapping_add(origin), low, high }
    }

    /// The address offsets are counted from.
    pub fn address(self) -> *mut u8 {
        self.start
    }

    /// The same range, with offsets counted from `by` bytes behind.
    pub fn moved(self, by: isize) -> Self {
        Self { start: self.start.wrapping_offset(by), low: self.low - by, high: self.high - by }
    }

    /// The address of `len` bytes at `at`.
    ///
    /// # Panics
    /// They lie outside of the range.
    #[inline(always)]
    pub fn at(self, at: isize, len: usize) -> *mut u8 {
        let inside = at >= self.low && isize::try_from(len).is_ok_and(|len| len <= self.high - at);
        if len != 0 && !inside {
            self.outside(at, len);
        }
        self.start.wrapping_offset(at)
    }

    #[cold]
    #[inline(never)]
    fn outside(self, at: isize, len: usize) -> ! {
        panic!("{len} bytes at {at} are outside of {}..{}", self.low, self.high)
    }

    /// The bytes at `at`, to be read. No mutable view of them may be in use.
    #[inline(always)]
    pub fn bytes<'a>(self, at: isize, len: usize) -> &'a [u8] {
        if len == 0 {
            return &[];
        }
        // SAFETY: the range was checked; `new` promises that it may be read and does not change meanwhile.
        unsafe { std::slice::from_raw_parts(self.at(at, len), len) }
    }

    /// The bytes at `at`, to be written. No other view of them may be in use.
    #[inline(always)]
    pub fn bytes_mut<'a>(self, at: isize, len: usize) -> &'a mut [u8] {
        if len == 0 {
            return &mut [];
        }
        // SAFETY: the range was checked; `new` promises that nobody else touches what is received into.
        unsafe { std::slice::from_raw_parts_mut(self.at(at, len), len) }
    }

    /// Lends the bytes at `at` to be sent.
    pub fn lend(self, at: isize, len: usize) -> OutBuffer {
        OutBuffer(self.lent(at, len))
    }

    /// Lends the bytes at `at` to be filled.
    #[inline(always)]
    pub fn lend_mut(self, at: isize, len: usize) -> InBuffer {
        InBuffer(self.lent(at, len))
    }

    #[inline(always)]
    fn lent(self, at: isize, len: usize) -> Lent {
        Lent::one(NonNull::new(self.at(at, len)).unwrap_or(NonNull::dangling()), len, std::ptr::null())
    }
}
