//! Accesses in assembly, which is opaque to the compiler.
//!
//! Owns the choice of pieces by length. The instructions of each processor are in its own module.

use std::arch::asm;

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(crate) use aarch64::stream_line;
#[cfg(target_arch = "aarch64")]
use aarch64::{call, is_slow, loading, storing};
#[cfg(target_arch = "x86_64")]
use x86_64::{call, is_slow, loading, storing};
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::{load_wide_block, load16, stream_line, transfer_line};

use crate::backwards;

unsafe extern "C" {
    fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8;
    fn memmove(to: *mut u8, from: *const u8, len: usize) -> *mut u8;
}

/// Copies `len` bytes as fixed pieces that may overlap, with `$piece::<N>(to, from)`; longer ones with
/// `$long`.
macro_rules! by_length {
    ($to:expr, $from:expr, $len:expr, $piece:ident, $long:expr) => {{
        let (to, from, len): (*mut u8, *const u8, usize) = ($to, $from, $len);
        if len == 8 {
            $piece::copy8(to, from);
        } else {
            match len {
                // This case is first, so that the call vanishes if the length is known to be at most that of
                // a cell.
                65.. => $long(to, from, len),
                49.. => {
                    $piece::copy16(to, from);
                    $piece::copy16(to.add(16), from.add(16));
                    $piece::copy16(to.add(32), from.add(32));
                    $piece::copy16(to.add(len - 16), from.add(len - 16));
                }
                33.. => {
                    $piece::copy16(to, from);
                    $piece::copy16(to.add(16), from.add(16));
                    $piece::copy16(to.add(len - 16), from.add(len - 16));
                }
                17.. => {
                    $piece::copy16(to, from);
                    $piece::copy16(to.add(len - 16), from.add(len - 16));
                }
                8.. => {
                    $piece::copy8(to, from);
                    $piece::copy8(to.add(len - 8), from.add(len - 8));
                }
                4.. => {
                    $piece::copy4(to, from);
                    $piece::copy4(to.add(len - 4), from.add(len - 4));
                }
                2.. => {
                    $piece::copy2(to, from);
                    $piece::copy2(to.add(len - 2), from.add(len - 2));
                }
                1 => $piece::copy1(to, from),
                0 => {}
            }
        }
    }};
}

/// Defines reads from shared memory, each followed by a plain write. The arguments are a name, the value's
/// type and register class, and the instruction.
macro_rules! reads {
    ($($name:ident $value:ty, $class:ident, $read:literal;)*) => {$(
        /// # Safety
        /// `from` is readable and `to` is writable for the size of the value.
        #[inline(always)]
        pub unsafe fn $name(to: *mut u8, from: *const u8) {
            let value: $value;
            // SAFETY: one read of that size, as the caller permits; then a write to memory of this thread.
            unsafe {
                asm!($read, value = out($class) value, from = in(reg) from, options(nostack, preserves_flags, readonly));
                to.cast::<$value>().write_unaligned(value);
            }
        }
    )*};
}
use reads;

/// Defines writes to shared memory, each after a plain read, with the arguments of [`reads`].
macro_rules! writes {
    ($($name:ident $value:ty, $class:ident, $write:literal;)*) => {$(
        /// # Safety
        /// `from` is readable and `to` is writable for the size of the value.
        #[inline(always)]
        pub unsafe fn $name(to: *mut u8, from: *const u8) {
            // SAFETY: a read of memory of this thread, then one write of that size, as the caller permits.
            unsafe {
                let value = from.cast::<$value>().read_unaligned();
                asm!($write, value = in($class) value, to = in(reg) to, options(nostack, preserves_flags));
            }
        }
    )*};
}
use writes;

/// # Safety
/// The conditions of [`std::ptr::copy_nonoverlapping`] apply, but others may access the memory meanwhile.
#[inline(never)]
unsafe fn long(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the ranges are the caller's.
    unsafe {
        match is_slow(to, from, len) {
            true => backwards::transfer(to, from, len),
            false => call!(memcpy, to, from, len),
        }
    }
}

/// Copies from shared memory to memory of this thread.
///
/// # Safety
/// The conditions of [`std::ptr::copy_nonoverlapping`] apply, but others may access `from` meanwhile.
#[inline(always)]
pub(crate) unsafe fn load(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: every arm touches only the first `len` bytes of both ranges, which the caller vouches for.
    unsafe { by_length!(to, from, len, loading, long) }
}

/// Copies from memory of this thread to shared memory.
///
/// # Safety
/// The conditions of [`std::ptr::copy_nonoverlapping`] apply, but others may access `to` meanwhile.
#[inline(always)]
pub(crate) unsafe fn store(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: as in `load`.
    unsafe { by_length!(to, from, len, storing, long) }
}

/// Copies between two places of shared memory, which may overlap.
///
/// # Safety
/// The conditions of [`std::ptr::copy`] apply, but others may access both meanwhile.
pub(crate) unsafe fn transfer(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the ranges are the caller's; those of long copies do not overlap.
    unsafe {
        match to.addr().abs_diff(from.addr()) >= len {
            true => long(to, from, len),
            false => call!(memmove, to, from, len),
        }
    }
}

/// Copies between two places that no other thread or process accesses meanwhile, which may overlap.
///
/// # Safety
/// The conditions of [`std::ptr::copy`] apply.
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the ranges are the caller's.
    unsafe { transfer(to, from, len) }
}
