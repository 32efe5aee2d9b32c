//! Buffers whose bytes lie as a layout says: packed and unpacked on the fly, at any offset.
//!
//! Owns what such a buffer needs beside its length. That the memory is the library's is the promise of its [`Raw`]; that a
//! range lies in it was checked when the buffer was lent.

use std::sync::Arc;

use super::{Form, InBuffer, Lent, More, OutBuffer, Raw};
use crate::layout::Layout;

/// Packed bytes on their way from one layout to another.
const STAGE: usize = 4096;

/// Elements of a layout in memory.
pub(super) struct Scattered {
    layout: Arc<Layout>,
    raw: Raw,
    count: usize,
    total: usize,
}

impl Scattered {
    /// Calls `each(address, offset in the range, length)` for the stretches of memory that make up a range.
    pub fn stretches(&self, offset: usize, len: usize, mut each: impl FnMut(*mut u8, usize, usize)) {
        let start = self.raw.address();
        self.layout
            .stretches(self.count, offset, len, |at, done, n| each(start.wrapping_offset(at), done, n));
    }

    /// # Safety
    /// `to` has room for `len` bytes, outside of this memory.
    pub unsafe fn gather(&self, offset: usize, to: *mut u8, len: usize) {
        assert!(offset <= self.total && len <= self.total - offset, "range outside of a buffer");
        // SAFETY: `Lent::scattered` has checked all elements; the range lies in them; `to` by the caller's word.
        unsafe { self.layout.gather(self.raw, self.count, offset, to, len) }
    }

    /// # Safety
    /// This memory was lent to be written; `from` has `len` bytes, outside of it.
    pub unsafe fn scatter(&self, offset: usize, from: *const u8, len: usize) {
        assert!(offset <= self.total && len <= self.total - offset, "range outside of a buffer");
        // SAFETY: as in `gather`.
        unsafe { self.layout.scatter(self.raw, self.count, offset, from, len) }
    }

    /// Whether it has too many stretches to be shared as a list of them.
    pub fn is_fine(&self) -> bool {
        self.layout.is_fine()
    }
}

impl Lent {
    fn scattered(layout: &Arc<Layout>, raw: Raw, count: usize) -> Self {
        let total = layout.total(count).expect("the elements fit the address space");
        layout.check(raw, count, 0, total);
        let scattered = Scattered { layout: layout.clone(), raw, count, total };
        let more = More { form: Form::Scattered(scattered), ..More::default() };
        Self {
            len: total,
            more: Some(Box::new(more)),
            ..Self::one(std::ptr::NonNull::dangling(), 0, std::ptr::null())
        }
    }

    /// What it is made of, if a layout says where its bytes lie.
    #[inline]
    pub(super) fn as_scattered(&self) -> Option<&Scattered> {
        match &self.more.as_ref()?.form {
            Form::Scattered(scattered) => Some(scattered),
            _ => None,
        }
    }
}

impl Raw {
    pub(crate) fn lend_layout(self, layout: &Arc<Layout>, count: usize) -> OutBuffer {
        OutBuffer(Lent::scattered(layout, self, count))
    }

    pub(crate) fn lend_layout_mut(self, layout: &Arc<Layout>, count: usize) -> InBuffer {
        InBuffer(Lent::scattered(layout, self, count))
    }
}

/// Copies the first `len` bytes between buffers one of which, at least, is scattered.
pub(super) fn copy_staged(from: &OutBuffer, to: &mut InBuffer, len: usize) {
    let mut stage = [0; STAGE];
    let mut done = 0;
    while done < len {
        let n = STAGE.min(len - done);
        from.copy_to_slice(done, &mut stage[..n]);
        to.copy_from_slice(done, &stage[..n]);
        done += n;
    }
}
