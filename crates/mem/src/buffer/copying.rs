//! Copies of lent bytes, with flags for memory that others may access meanwhile.

use crate::racing;
use crate::window::Window;

/// Copies lent bytes into a window at `at`. `shared` is true if others may access the bytes meanwhile.
///
/// # Safety
/// `from` has `len` lent bytes, and the window has room for them there.
pub(super) unsafe fn fill_from((from, shared): (*const u8, bool), to: Window<'_>, at: usize, len: usize) {
    // SAFETY: as the caller says; only a region's memory may lie in the window.
    unsafe {
        match shared {
            true => to.fill_shared(at, from, len),
            false => to.fill(at, from, len),
        }
    }
}

/// Copies between two places, each with a flag that is true if others may access it meanwhile. The two may
/// overlap only if the flags are equal.
///
/// # Safety
/// The conditions are those of [`std::ptr::copy`], but others may access places with the flag.
pub(super) unsafe fn copy_between(
    (to, to_shared): (*mut u8, bool),
    (from, from_shared): (*const u8, bool),
    len: usize,
) {
    // SAFETY: as the caller says; a place that is not shared is used by no other code.
    unsafe {
        match (to_shared, from_shared) {
            (true, false) => racing::store(to, from, len),
            (false, true) => racing::load(to, from, len),
            (true, true) => racing::transfer(to, from, len),
            (false, false) => racing::copy(to, from, len),
        }
    }
}
