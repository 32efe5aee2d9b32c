//! Copies within memory of one thread.

use std::ptr;

use crate::racing;

/// Copies a slice into one of the same length, at full speed even if the C library's `memcpy` is slow (see
/// `racing`).
///
/// # Panics
/// The lengths differ.
#[inline(always)]
pub fn copy_slice(to: &mut [u8], from: &[u8]) {
    assert_eq!(to.len(), from.len(), "a copy of a slice is as long as the slice");
    // SAFETY: both are borrowed, so they do not overlap.
    unsafe { copy(to.as_mut_ptr(), from.as_ptr(), from.len()) }
}

/// Copies like `memcpy`, without a call for lengths up to one cell. It uses overlapping pieces chosen by
/// length, and one piece each for the two most frequent lengths.
///
/// # Safety
/// The conditions are those of [`ptr::copy_nonoverlapping`].
#[inline(always)]
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    /// Copies the first and the last `N` bytes; together they cover `len` bytes, up to `2 * N`.
    #[inline(always)]
    unsafe fn ends<const N: usize>(to: *mut u8, from: *const u8, len: usize) {
        // SAFETY: the caller's ranges hold `len >= N` bytes and do not overlap.
        unsafe {
            ptr::copy_nonoverlapping(from, to, N);
            ptr::copy_nonoverlapping(from.add(len - N), to.add(len - N), N);
        }
    }
    // SAFETY: every arm touches only the first `len` bytes of both ranges, which the caller vouches for.
    unsafe {
        match len {
            8 => ptr::copy_nonoverlapping(from, to, 8),
            48 => ptr::copy_nonoverlapping(from, to, 48),
            9..=16 => ends::<8>(to, from, len),
            17..=32 => ends::<16>(to, from, len),
            33..=47 => {
                ptr::copy_nonoverlapping(from.add(16), to.add(16), 16);
                ends::<16>(to, from, len);
            }
            4..=7 => ends::<4>(to, from, len),
            2..=3 => ends::<2>(to, from, len),
            1 => *to = *from,
            0 => {}
            _ => racing::copy(to, from, len),
        }
    }
}
