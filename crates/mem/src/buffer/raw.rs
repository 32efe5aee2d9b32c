//! Memory of a caller in another language, given by its address.
//!
//! Owns nothing. The caller promises that the library may access a range, once where the address enters
//! ([`Raw::new`], [`RawMut::new`]). Each value checks that it keeps to its range. A [`Raw`] is read and may
//! be copied. A [`RawMut`] is written, and only one exists for each promise. So views of it follow the borrow
//! checker's rules, and a buffer consumes it.
//!
//! ```text
//!   Raw      ── bytes (borrows) ── lend ──▶ OutBuffer
//!   RawMut   ── bytes_mut (borrows exclusively) ── lend_mut (consumes) ──▶ InBuffer
//!      │ └─ Divided::of        lent in parts
//!      └─── ReusableMemory     lent repeatedly, each time after its return
//! ```
//!
//! Two writable views cannot exist at once:
//!
//! ```compile_fail,E0499
//! # use canele_mem::buffer::RawMut;
//! let mut memory = RawMut::of(vec![0; 8].leak(), 0);
//! let one = memory.bytes_mut(0, 8);
//! let other = memory.bytes_mut(0, 8);
//! one[0] = other[0];
//! ```
//! ```compile_fail,E0599
//! # use canele_mem::buffer::RawMut;
//! let memory = RawMut::of(vec![0; 8].leak(), 0);
//! let other = memory.clone();
//! ```
//! ```compile_fail,E0382
//! # use canele_mem::buffer::RawMut;
//! let mut memory = RawMut::of(vec![0; 8].leak(), 0);
//! let buffer = memory.lend_mut(0, 8);
//! memory.bytes_mut(0, 8);
//! ```

use std::ptr::NonNull;

use super::{InBuffer, Lent, OutBuffer};

/// A range of bytes around an address: from `low` to `high` relative to it, which may be negative.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    start: *mut u8,
    low: isize,
    high: isize,
}

// SAFETY: an address; what is promised about the memory behind it does not depend on the thread.
unsafe impl Send for Bounds {}
// SAFETY: as above; a shared reference only reads.
unsafe impl Sync for Bounds {}

impl Bounds {
    #[inline(always)]
    fn new(start: *mut u8, low: isize, high: isize) -> Self {
        Self { start, low, high: high.max(low) }
    }

    #[inline(always)]
    pub(crate) fn start(&self) -> *mut u8 {
        self.start
    }

    pub(crate) fn moved(self, by: isize) -> Self {
        Self { start: self.start.wrapping_offset(by), low: self.low - by, high: self.high - by }
    }

    /// Returns the offsets of the bytes at and after the address.
    pub(super) fn behind(&self) -> std::ops::Range<usize> {
        let [low, high] = [self.low, self.high].map(|end| end.max(0).unsigned_abs());
        low..high
    }

    /// Returns the lender's identity: the address of the first byte. All empty ranges are one lender.
    pub(super) fn lender(&self) -> *const () {
        match self.low == self.high {
            true => NonNull::dangling().as_ptr(),
            false => self.start.wrapping_offset(self.low).cast_const().cast(),
        }
    }

    /// Returns the address of `len` bytes at `at`.
    ///
    /// # Panics
    /// The bytes lie outside of the range.
    #[inline(always)]
    pub(crate) fn at(&self, at: isize, len: usize) -> *mut u8 {
        let inside = at >= self.low && isize::try_from(len).is_ok_and(|len| len <= self.high - at);
        if len != 0 && !inside {
            self.outside(at, len);
        }
        self.start.wrapping_offset(at)
    }

    #[cold]
    #[inline(never)]
    fn outside(&self, at: isize, len: usize) -> ! {
        panic!("{len} bytes at {at} are outside of {}..{}", self.low, self.high)
    }

    #[inline(always)]
    pub(crate) fn lent(&self, at: isize, len: usize) -> Lent {
        Lent::one(NonNull::new(self.at(at, len)).unwrap_or(NonNull::dangling()), len, std::ptr::null())
    }
}

mod sealed {
    /// A trait with bounds that only this crate's kinds of memory implement.
    pub trait HasBounds {
        fn bounds(&self) -> super::Bounds;
    }
}
pub(crate) use sealed::HasBounds;

/// Memory of the program that may be read: a [`Raw`] or a [`RawMut`].
pub trait Readable: HasBounds {
    /// Returns the address that offsets are counted from.
    #[inline(always)]
    fn address(&self) -> *mut u8 {
        self.bounds().start
    }

    /// Returns the bytes at `at`.
    ///
    /// # Panics
    /// The bytes lie outside of the range.
    #[inline(always)]
    fn bytes(&self, at: isize, len: usize) -> &[u8] {
        if len == 0 {
            return &[];
        }
        // SAFETY: the range was checked; the maker promised that it may be read and does not change while views of it exist, and a
        // `RawMut`, through which it could be written, is borrowed as long.
        unsafe { std::slice::from_raw_parts(self.bounds().at(at, len), len) }
    }
}

/// Memory of the program that is read.
#[derive(Clone, Copy, Debug)]
pub struct Raw(Bounds);

/// Memory of the program that only the holder of this value writes and reads.
#[derive(Debug)]
pub struct RawMut {
    bounds: Bounds,
    /// The end of the memory before a part was cut off; parts of one memory share it.
    end: isize,
}

impl HasBounds for Raw {
    #[inline(always)]
    fn bounds(&self) -> Bounds {
        self.0
    }
}

impl HasBounds for RawMut {
    #[inline(always)]
    fn bounds(&self) -> Bounds {
        self.bounds
    }
}

impl Readable for Raw {}
impl Readable for RawMut {}

impl Raw {
    /// Takes the bytes from `start + low` to `start + high`.
    ///
    /// # Safety
    /// The bytes stay mapped, and no thread writes them, as long as a view or buffer of this value or of a
    /// copy is in use.
    /// Bytes in gaps between what an operation moves are not touched.
    #[inline(always)]
    pub unsafe fn new(start: *const u8, low: isize, high: isize) -> Self {
        Self(Bounds::new(start.cast_mut(), low, high))
    }

    /// Returns the same range, with offsets counted from `by` bytes further.
    pub fn moved(self, by: isize) -> Self {
        Self(self.0.moved(by))
    }

    /// Lends the bytes at `at` to be sent.
    pub fn lend(self, at: isize, len: usize) -> OutBuffer {
        OutBuffer(self.0.lent(at, len))
    }

    /// Lends the first bytes of several memories, one behind the other, as one message.
    ///
    /// # Panics
    /// The panics of [`Readable::bytes`] apply.
    pub fn lend_list(list: impl IntoIterator<Item = (Raw, usize)>) -> OutBuffer {
        let parts = list.into_iter().map(|(raw, len)| (raw.0.at(0, len), len));
        let parts = parts.map(|(start, len)| (NonNull::new(start).unwrap_or(NonNull::dangling()), len));
        OutBuffer(Lent::many(parts, std::ptr::null()))
    }

    /// Lends the first `len` bytes of this memory and of another one, one behind the other.
    ///
    /// # Panics
    /// The panics of [`Readable::bytes`] apply.
    pub fn lend_with(self, other: Raw, len: usize) -> OutBuffer {
        Self::lend_list([(self, len), (other, len)])
    }
}

impl RawMut {
    /// Takes the bytes from `start + low` to `start + high`.
    ///
    /// # Safety
    /// The bytes stay mapped as long as a view or a buffer made of this value is in use. Meanwhile they are
    /// read and written only through it.
    /// Bytes in gaps between what an operation moves are not touched.
    #[inline(always)]
    pub unsafe fn new(start: *mut u8, low: isize, high: isize) -> Self {
        Self::whole(Bounds::new(start, low, high))
    }

    /// Takes memory that is never freed, with offsets counted from `origin` bytes after its start.
    ///
    /// # Panics
    /// The origin lies outside of the memory.
    pub fn of(bytes: &'static mut [u8], origin: usize) -> Self {
        assert!(origin <= bytes.len(), "the origin {origin} is outside of {} bytes", bytes.len());
        let (low, high) = (-origin.cast_signed(), bytes.len().cast_signed() - origin.cast_signed());
        Self::whole(Bounds::new(bytes.as_mut_ptr().wrapping_add(origin), low, high))
    }

    #[inline(always)]
    fn whole(bounds: Bounds) -> Self {
        Self { bounds, end: bounds.high }
    }

    /// Returns the same memory as read-only.
    pub fn into_raw(self) -> Raw {
        Raw(self.bounds)
    }

    /// Calls `f` with offsets counted from `by` bytes further.
    pub fn moved<T>(&mut self, by: isize, f: impl FnOnce(&mut Self) -> T) -> T {
        self.shift(by);
        let result = f(self);
        self.shift(-by);
        result
    }

    fn shift(&mut self, by: isize) {
        self.bounds = self.bounds.moved(by);
        self.end -= by;
    }

    /// Returns the bytes at `at` for writing.
    ///
    /// # Panics
    /// The bytes lie outside of the range.
    #[inline(always)]
    pub fn bytes_mut(&mut self, at: isize, len: usize) -> &mut [u8] {
        if len == 0 {
            return &mut [];
        }
        // SAFETY: the range was checked; the maker promised that no other code touches it, and this value, the only one of the promise,
        // is borrowed exclusively as long as the view.
        unsafe { std::slice::from_raw_parts_mut(self.bounds.at(at, len), len) }
    }

    /// Lends the bytes at `at` to be filled.
    #[inline(always)]
    pub fn lend_mut(self, at: isize, len: usize) -> InBuffer {
        InBuffer(self.bounds.lent(at, len))
    }

    /// Cuts off the memory from `at` on; offsets of both are counted from the same address.
    ///
    /// # Panics
    /// `at` lies outside of the range.
    pub fn split_off(&mut self, at: isize) -> RawMut {
        let Bounds { low, high, .. } = self.bounds;
        assert!(low <= at && at <= high, "{at} is outside of {low}..{high}");
        let tail = Self { bounds: Bounds { low: at, ..self.bounds }, end: self.end };
        self.bounds.high = at;
        tail
    }

    /// Joins a part that was cut off: both become one range.
    ///
    /// # Errors
    /// Returns the part if it does not follow this one in the same memory, with the same origin of offsets.
    pub fn join(&mut self, tail: RawMut) -> Result<(), RawMut> {
        let (own, other) = (self.bounds, tail.bounds);
        // Two memories may touch and share an origin of offsets, but they do not share their end.
        if other.start != own.start || tail.end != self.end || other.low != own.high {
            return Err(tail);
        }
        self.bounds.high = other.high;
        Ok(())
    }

    /// Returns the range of its offsets.
    pub fn range(&self) -> std::ops::Range<isize> {
        self.bounds.low..self.bounds.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_are_counted_from_the_origin() {
        let mut memory = RawMut::of((0..8).collect::<Vec<u8>>().leak(), 3);
        memory.bytes_mut(-3, 1).fill(9);
        assert_eq!((memory.range(), memory.bytes(-3, 4)), (-3..5, &[9, 1, 2, 3][..]));
        assert_eq!(RawMut::of(vec![0; 8].leak(), 8).range(), -8..0);
    }

    #[test]
    fn memories_that_touch_are_not_joined() {
        let memory: &'static mut [u8] = vec![0; 16].leak();
        let (first, second) = memory.split_at_mut(8);
        let (mut first, second) = (RawMut::of(first, 8), RawMut::of(second, 0));
        let second = first.join(second).expect_err("another memory");
        let tail = first.split_off(-2);
        assert!(first.join(second).is_err() && first.range() == (-8..-2), "nor after a part was cut off");
        first.moved(-8, |first| assert_eq!(first.range(), 0..6));
        first.join(tail).expect("its own part");
        assert_eq!(first.range(), -8..0);
    }

    #[test]
    #[should_panic(expected = "the origin 9 is outside of 8 bytes")]
    fn an_origin_lies_in_its_memory() {
        RawMut::of(vec![0; 8].leak(), 9);
    }
}
