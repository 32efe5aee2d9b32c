//! Plain copies for the models: these check, by the atomics around the copies, that no two of them race.

use std::ptr;

/// Copies from shared memory to memory of this thread.
///
/// # Safety
/// As [`ptr::copy_nonoverlapping`].
pub(crate) unsafe fn load(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the ranges are the caller's.
    unsafe { ptr::copy_nonoverlapping(from, to, len) }
}

/// Copies from memory of this thread to shared memory.
///
/// # Safety
/// As [`ptr::copy_nonoverlapping`].
pub(crate) unsafe fn store(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the ranges are the caller's.
    unsafe { ptr::copy_nonoverlapping(from, to, len) }
}

/// Copies between two places of shared memory, which may overlap.
///
/// # Safety
/// As [`ptr::copy`].
pub(crate) unsafe fn transfer(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the ranges are the caller's.
    unsafe { ptr::copy(from, to, len) }
}

/// Copies between two places that no other thread or process accesses meanwhile, which may overlap.
///
/// # Safety
/// As [`std::ptr::copy`].
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the ranges are the caller's.
    unsafe { std::ptr::copy(from, to, len) }
}
