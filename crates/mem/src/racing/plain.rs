//! Plain copies for the models, which check by the atomics around the copies that no two copies race.

use std::ptr;

/// Copies from shared memory to memory of this thread.
///
/// # Safety
/// The conditions of [`ptr::copy_nonoverlapping`] apply.
pub(crate) unsafe fn load(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the ranges are the caller's.
    unsafe { ptr::copy_nonoverlapping(from, to, len) }
}

/// Copies from memory of this thread to shared memory.
///
/// # Safety
/// The conditions of [`ptr::copy_nonoverlapping`] apply.
pub(crate) unsafe fn store(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the ranges are the caller's.
    unsafe { ptr::copy_nonoverlapping(from, to, len) }
}

/// Copies between two places of shared memory, which may overlap.
///
/// # Safety
/// The conditions of [`ptr::copy`] apply.
pub(crate) unsafe fn transfer(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the ranges are the caller's.
    unsafe { ptr::copy(from, to, len) }
}

/// Copies between two places that no other thread or process accesses meanwhile, which may overlap.
///
/// # Safety
/// The conditions of [`std::ptr::copy`] apply.
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the ranges are the caller's.
    unsafe { std::ptr::copy(from, to, len) }
}
