//! Copies of lent bytes, of which is said whether others may access them meanwhile.

use crate::racing;
use crate::window::Window;

/// Copies lent bytes, of which is said whether others may access them meanwhile, into a window at `at`.
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

/// Copies between two places, of each of which is said whether others may access it meanwhile. Only such places may overlap, or two
/// that are not.
///
/// # Safety
/// As [`std::ptr::copy`], but others may access what is said to be shared.
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
