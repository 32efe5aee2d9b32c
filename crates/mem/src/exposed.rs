//! Memory of this process that other ranks may read and write at any time.
//!
//! Owns the promise that the bytes stay mapped, made once where their address enters ([`Exposed::new`]). Does
//! not own the bytes. They are copied in and out, or accessed as atomic words, and never borrowed. An
//! [`ExposedElements`] selects the bytes of a datatype's elements.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use canele_sys::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};

use crate::buffer::{InBuffer, OutBuffer};
use crate::layout::Layout;
use crate::window::Window;

/// Bytes of this process that other ranks and threads may read and write at any time; cheap to clone.
#[derive(Clone)]
pub struct Exposed(Arc<ExposedBytes>);

struct ExposedBytes {
    start: NonNull<u8>,
    len: usize,
    /// Keeps memory of the library mapped.
    _keep: Option<Arc<dyn Any + Send + Sync>>,
    /// Counts the buffers of the bytes.
    lent: Arc<()>,
}

// SAFETY: an address; what is promised about the memory behind it does not depend on the thread, and shared access gives atomics and
// windows only.
unsafe impl Send for ExposedBytes {}
// SAFETY: as above.
unsafe impl Sync for ExposedBytes {}

/// Words that are accessed through [`Exposed`] only, and freed in the end.
struct Words(NonNull<[u128]>);

// SAFETY: an address; only its owner frees the memory there.
unsafe impl Send for Words {}
// SAFETY: as above; a shared reference gives no access.
unsafe impl Sync for Words {}

impl Drop for Words {
    fn drop(&mut self) {
        // SAFETY: it came from `Box::into_raw`, and the last user of the memory is gone.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Defines the access to aligned words of one size.
macro_rules! word {
    ($name:ident, $atomic:ty, $bits:literal) => {
        #[doc = concat!("The aligned word of ", $bits, " bits at `at`, for atomic operations.")]
        pub fn $name(&self, at: usize) -> Option<&$atomic> {
            self.aligned(at, size_of::<$atomic>())
                // SAFETY: inside of the memory, which this value keeps mapped, and aligned.
                .map(|word| unsafe { word.cast().as_ref() })
        }
    };
}

impl Exposed {
    /// Takes the `len` bytes from `start`.
    ///
    /// # Safety
    /// The bytes stay mapped, readable and writable until the last clone of this value and the last buffer made of one are dropped. Until
    /// then no Rust reference to them is used, and accesses that race with those of other ranks are the program's own fault.
    pub unsafe fn new(start: *mut u8, len: usize) -> Self {
        let start = NonNull::new(start).unwrap_or(NonNull::dangling());
        Self(Arc::new(ExposedBytes { start, len, _keep: None, lent: Arc::default() }))
    }

    /// Makes exposed memory that the library owns.
    pub fn of(bytes: Vec<u8>) -> Self {
        let len = bytes.len();
        // The memory is made of words, so that its first byte is aligned for any element.
        let mut words = vec![0u128; len.div_ceil(size_of::<u128>())].into_boxed_slice();
        bytemuck::cast_slice_mut(&mut words)[..len].copy_from_slice(&bytes);
        let start = NonNull::new(Box::into_raw(words)).expect("memory has an address");
        let keep = Arc::new(Words(start));
        // SAFETY: the words live as long as `keep`, and no other code knows where they are.
        unsafe { Self::kept(start.cast(), len, keep) }
    }

    /// Takes the `len` bytes from `start`, which `keep` keeps mapped.
    ///
    /// # Safety
    /// The conditions of [`Exposed::new`] apply; `keep` upholds them.
    pub unsafe fn kept(start: NonNull<u8>, len: usize, keep: Arc<dyn Any + Send + Sync>) -> Self {
        Self(Arc::new(ExposedBytes { start, len, _keep: Some(keep), lent: Arc::default() }))
    }

    /// Returns the `len` bytes from `at` as separate memory, if they lie inside. The whole memory is lent
    /// while the part exists.
    pub fn part(&self, at: usize, len: usize) -> Option<Self> {
        // SAFETY: inside of the memory, which is kept.
        self.start_of(at, len).map(|start| unsafe { Self::kept(start, len, self.hold()) })
    }

    /// Joins several memories, if each begins at the end of the previous one. All of them are lent while the
    /// result or a buffer of it exists.
    pub fn joined(parts: &[Self]) -> Option<Self> {
        let first = parts.first()?;
        let mut end = first.address();
        for part in parts {
            if part.address() != end {
                return None;
            }
            end = part.address().checked_add(part.len())?;
        }
        let keep: Vec<_> = parts.iter().map(|part| (part.0.clone(), part.0.lent.clone())).collect();
        // SAFETY: the bytes are those of the parts, without a gap; `keep` keeps each part, which keeps what was promised of it.
        Some(unsafe { Self::kept(first.0.start, end - first.address(), Arc::new(keep)) })
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Returns true if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.0.len == 0
    }

    /// Returns the address of the first byte.
    pub fn address(&self) -> usize {
        self.0.start.as_ptr().addr()
    }

    /// Returns true while a buffer of this memory, or of a clone, exists.
    pub fn is_lent(&self) -> bool {
        Arc::strong_count(&self.0.lent) > 1
    }

    /// Returns the value by which a buffer holds the memory.
    fn hold(&self) -> Arc<dyn Any + Send + Sync> {
        Arc::new((self.0.clone(), self.0.lent.clone()))
    }

    fn start_of(&self, at: usize, len: usize) -> Option<NonNull<u8>> {
        let inside = at.checked_add(len).is_some_and(|end| end <= self.0.len);
        // SAFETY: at lies within the memory or at its end.
        inside.then(|| unsafe { self.0.start.add(at) })
    }

    fn aligned(&self, at: usize, size: usize) -> Option<NonNull<u8>> {
        self.start_of(at, size).filter(|word| word.as_ptr().addr().is_multiple_of(size))
    }

    /// Returns the `len` bytes from `at`, if they lie inside.
    pub fn window(&self, at: usize, len: usize) -> Option<Window<'_>> {
        // SAFETY: inside of the memory, which this value keeps mapped and to which no reference is used.
        self.start_of(at, len).map(|start| unsafe { Window::new(start, len) })
    }

    /// Copies bytes out; returns false if they do not lie inside. A copy that races with another rank's may
    /// see a mixture.
    pub fn load(&self, at: usize, to: &mut [u8]) -> bool {
        self.window(at, to.len()).map(|window| window.read(0, to)).is_some()
    }

    /// Copies bytes in; returns false if they do not lie inside.
    pub fn store(&self, at: usize, from: &[u8]) -> bool {
        self.window(at, from.len()).map(|window| window.write(0, from)).is_some()
    }

    word!(word8, AtomicU8, "8");
    word!(word16, AtomicU16, "16");
    word!(word32, AtomicU32, "32");
    word!(word64, AtomicU64, "64");

    /// Lends the `len` bytes from `at` to be sent, if they lie inside.
    pub fn out_buffer(&self, at: usize, len: usize) -> Option<OutBuffer> {
        // SAFETY: the range was checked, and what is held keeps it mapped.
        self.start_of(at, len).map(|start| unsafe { OutBuffer::of_exposed(start, len, self.hold()) })
    }

    /// Lends the `len` bytes from `at` to be filled, if they lie inside.
    pub fn in_buffer(&self, at: usize, len: usize) -> Option<InBuffer> {
        // SAFETY: as above.
        self.start_of(at, len).map(|start| unsafe { InBuffer::of_exposed(start, len, self.hold()) })
    }
}

/// A function that takes a place and a length, and returns the memory that elements may access there and the
/// offset in it.
pub type FindExposed<'a> = &'a dyn Fn(isize, usize) -> Option<(&'a Exposed, usize)>;

/// A range of the packed bytes of elements in exposed memory.
pub struct ExposedElements<'a> {
    find: FindExposed<'a>,
    /// The one memory that has all elements, if there is one, and their place in it.
    whole: Option<(&'a Exposed, isize)>,
    layout: &'a Layout,
    count: usize,
    /// The place of the elements, and the first packed byte of the range.
    origin: isize,
    skip: usize,
    len: usize,
}

impl<'a> ExposedElements<'a> {
    /// Finds `len` packed bytes from `skip` of `count` elements at `origin`. Returns none if the elements
    /// have fewer bytes, or if `find` finds no memory for a byte.
    pub fn find(
        layout: &'a Layout,
        count: usize,
        origin: isize,
        (skip, len): (usize, usize),
        find: FindExposed<'a>,
    ) -> Option<Self> {
        let has_them =
            skip.checked_add(len).is_some_and(|end| layout.total(count).is_some_and(|all| end <= all));
        if !has_them {
            return None;
        }
        let mut elements = Self { find, whole: None, layout, count, origin, skip, len };
        elements.whole = elements.in_one_memory();
        (elements.whole.is_some() || elements.are_exposed()).then_some(elements)
    }

    /// Returns the memory that contains the whole span of the elements, and their place in it. Usually there
    /// is one.
    fn in_one_memory(&self) -> Option<(&'a Exposed, isize)> {
        let span = self.layout.span(self.count);
        let at = span.start.checked_add(self.origin)?;
        let (memory, within) = (self.find)(at, span.end.checked_sub(span.start)?.unsigned_abs())?;
        Some((memory, isize::try_from(within).ok()?.checked_sub(span.start)?))
    }

    /// Returns true if `find` finds memory for each stretch.
    fn are_exposed(&self) -> bool {
        let mut all = true;
        self.layout.stretches(self.count, self.skip, self.len, |at, _, len| {
            all &= at.checked_add(self.origin).is_some_and(|at| (self.find)(at, len).is_some());
        });
        all
    }

    /// Returns the number of packed bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true if there are no packed bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Calls `each(memory, place in it, offset in the packed bytes, length)` for the stretches, in packed order.
    pub fn each(&self, mut each: impl FnMut(&Exposed, usize, usize, usize)) {
        if let Some((memory, origin)) = self.whole {
            self.layout.stretches(self.count, self.skip, self.len, |at, done, len| {
                each(memory, at.wrapping_add(origin).cast_unsigned(), done, len);
            });
            return;
        }
        self.layout.stretches(self.count, self.skip, self.len, |at, done, len| {
            if let Some((memory, at)) = (self.find)(at.wrapping_add(self.origin), len) {
                each(memory, at, done, len);
            }
        });
    }

    /// Packs the elements into `to`.
    ///
    /// # Panics
    /// The length of `to` differs.
    pub fn load(&self, to: &mut [u8]) {
        assert_eq!(to.len(), self.len, "room for the packed bytes");
        self.each(|memory, at, done, len| {
            memory.load(at, &mut to[done..done + len]);
        });
    }

    /// Unpacks `from` into the elements.
    ///
    /// # Panics
    /// The length of `from` differs.
    pub fn store(&self, from: &[u8]) {
        assert_eq!(from.len(), self.len, "as many packed bytes");
        self.each(|memory, at, done, len| {
            memory.store(at, &from[done..done + len]);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_lies_inside_is_reached() {
        let memory = Exposed::of(vec![0; 16]);
        assert!(memory.store(8, &[1; 8]) && !memory.store(9, &[1; 8]) && !memory.store(usize::MAX, &[1]));
        let mut bytes = [0; 4];
        assert!(memory.load(6, &mut bytes) && bytes == [0, 0, 1, 1]);
        assert!(memory.word64(8).is_some() && memory.word64(4).is_none() && memory.word64(16).is_none());
        assert!(memory.word8(15).is_some() && memory.word8(16).is_none() && memory.word16(3).is_none());
        assert!(memory.out_buffer(16, 0).is_some() && memory.in_buffer(10, 7).is_none());
    }

    #[test]
    fn a_buffer_holds_the_memory_and_has_no_place_in_a_region() {
        let memory = Exposed::of(vec![1, 2, 3, 4]);
        assert!(!memory.is_lent());
        let mut buffer = memory.in_buffer(1, 2).expect("inside");
        buffer.copy_from_slice(0, &[8, 9]);
        assert!(memory.is_lent() && buffer.place().is_none() && buffer.is_region());
        drop(buffer);
        let mut bytes = [0; 4];
        assert!(memory.load(0, &mut bytes) && bytes == [1, 8, 9, 4] && !memory.is_lent());
    }

    #[test]
    fn adjacent_memories_are_lent_together_while_they_are_one() {
        let all = Exposed::of(vec![0; 24]);
        let part = |at| all.part(at, 8).expect("inside");
        let parts = [part(0), part(8), part(16)];
        assert!(
            Exposed::joined(&[parts[0].clone(), parts[2].clone()]).is_none()
                && Exposed::joined(&[]).is_none()
        );
        let joined = Exposed::joined(&parts).expect("without a gap");
        assert!(joined.store(4, &[1; 16]) && parts[1].is_lent());
        let buffer = joined.out_buffer(4, 16).expect("inside");
        drop(joined);
        assert!(parts[2].is_lent());
        drop(buffer);
        let mut bytes = [0; 8];
        assert!(parts[1].load(0, &mut bytes) && bytes == [1; 8] && !parts[1].is_lent());
    }

    #[test]
    fn elements_that_begin_before_their_origin_are_found_in_one_memory() {
        let memory = Exposed::of(vec![0; 20]);
        let find = |at: isize, len: usize| {
            let at = usize::try_from(at - 100).ok()?;
            memory.window(at, len).map(|_| (&memory, at))
        };
        let last_first = Layout::block(2).repeated(2, -10).unwrap();
        let elements = ExposedElements::find(&last_first, 1, 112, (1, 3), &find).expect("all is there");
        elements.store(&[1, 2, 3]);
        let mut bytes = [0; 20];
        assert!(memory.load(0, &mut bytes));
        let mut expected = [0; 20];
        (expected[13], expected[2], expected[3]) = (1, 2, 3);
        assert_eq!(bytes, expected);
        assert!(ExposedElements::find(&last_first, 1, 109, (0, 4), &find).is_none());
    }

    #[test]
    fn elements_may_lie_in_several_memories_but_not_beside_them() {
        let memories = [(100, Exposed::of(vec![0; 10])), (200, Exposed::of(vec![0; 10]))];
        let find = |at: isize, len: usize| {
            memories.iter().find_map(|(start, memory)| {
                let at = usize::try_from(at - start).ok()?;
                memory.window(at, len).map(|_| (memory, at))
            })
        };
        let layout = Layout::block(4).repeated(2, 100).unwrap();
        let elements = ExposedElements::find(&layout, 1, 103, (0, 8), &find).expect("both blocks are there");
        elements.store(&[1, 2, 3, 4, 5, 6, 7, 8]);
        let mut bytes = [0; 8];
        elements.load(&mut bytes);
        assert_eq!((bytes, elements.len()), ([1, 2, 3, 4, 5, 6, 7, 8], 8));
        let mut second = [0; 4];
        assert!(memories[1].1.load(3, &mut second) && second == [5, 6, 7, 8]);
        assert!(ExposedElements::find(&layout, 1, 107, (0, 8), &find).is_none(), "a block leaves its memory");
        assert!(
            ExposedElements::find(&layout, 1, 107, (0, 3), &find).is_some(),
            "what is not touched may lie anywhere"
        );
        assert!(
            ExposedElements::find(&layout, 1, 103, (5, 4), &find).is_none(),
            "more than the elements have"
        );
        assert!(ExposedElements::find(&layout, 1, 103, (usize::MAX, 4), &find).is_none());
        assert!(ExposedElements::find(&layout, 1, isize::MAX, (0, 8), &find).is_none());
    }
}
