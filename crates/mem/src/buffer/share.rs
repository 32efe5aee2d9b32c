//! Parts of a lent buffer, held by a driver that works while the operation waits.
//!
//! Owns the count that withholds the buffer from its lender. Does not define the driver's use of the memory.

use canele_sys::process_memory::{self, Proof};
use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;

use super::copying::fill_from;
use super::has_length;
use crate::window::Window;

/// Part of a buffer, for a driver that works while the operation waits.
pub(super) struct Share {
    pub stretches: Vec<(NonNull<u8>, usize)>,
    pub len: usize,
    /// Keeps a region mapped.
    pub keep: Option<Arc<dyn Any + Send + Sync>>,
    /// Withholds the buffer from its lender.
    pub _count: Arc<()>,
}

/// Part of an [`super::OutBuffer`].
pub struct OutShare(pub(super) Share);
/// Part of an [`super::InBuffer`].
pub struct InShare(pub(super) Share);

// SAFETY: as of the buffers they are parts of, which their lender does not get back before them.
unsafe impl Send for OutShare {}
// SAFETY: as above.
unsafe impl Send for InShare {}

macro_rules! both {
    ($name:ident) => {
        impl $name {
            /// Returns its stretches of memory, in order. They are readable, and in an [`InShare`] writable,
            /// as long as the share lives. Other processes may read and write stretches in a region.
            pub fn stretches(&self) -> &[(NonNull<u8>, usize)] {
                &self.0.stretches
            }
        }
    };
}
both!(OutShare);
both!(InShare);
has_length!(OutShare);
has_length!(InShare);

impl OutShare {
    /// Fills `to`, which has the share's length.
    pub fn copy_to(&self, to: Window<'_>) {
        assert_eq!(to.len(), self.0.len, "a share and a window of one length");
        let mut at = 0;
        for (start, n) in &self.0.stretches {
            // SAFETY: the stretch has n lent bytes, and at + n <= to.len().
            unsafe { fill_from((start.as_ptr(), self.0.keep.is_some()), to, at, *n) }
            at += n;
        }
    }

    /// Writes it to these stretches (address, length) of the memory of another process, which has lent them.
    /// Returns false if that failed; then their content is undefined.
    pub fn store(&self, to: &Proof, stretches: &[(u64, usize)]) -> bool {
        // SAFETY: the stretches are lent for reading as long as the share lives; the other process's protocol lends what lies there.
        unsafe { process_memory::write(to, stretches, &self.0.stretches) }.is_ok()
    }
}

impl InShare {
    /// Fills it with `from`, which has the share's length.
    pub fn copy_from(&self, from: Window<'_>) {
        assert_eq!(from.len(), self.0.len, "a share and a window of one length");
        let mut at = 0;
        for (start, n) in &self.0.stretches {
            // SAFETY: the stretch has n bytes lent for writing, and at + n <= from.len(); memory that is in no region is no window's.
            unsafe {
                match self.0.keep.is_some() {
                    true => from.drain_shared(at, start.as_ptr(), *n),
                    false => from.drain(at, start.as_ptr(), *n),
                }
            }
            at += n;
        }
    }

    /// Fills it from these stretches (address, length) of the memory of another process. Returns false if
    /// that failed; then its content is undefined.
    pub fn fetch(&self, of: &Proof, stretches: &[(u64, usize)]) -> bool {
        // SAFETY: the stretches are lent for writing as long as the share lives, and no other code writes there meanwhile.
        unsafe { process_memory::read(of, stretches, &self.0.stretches) }.is_ok()
    }
}
