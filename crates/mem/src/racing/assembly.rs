//! Accesses in assembly, which the compiler does not look into.

use std::arch::asm;
use std::arch::x86_64::{__m128i, __m256i, _mm256_storeu_si256};

use crate::backwards;

unsafe extern "C" {
    fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8;
    fn memmove(to: *mut u8, from: *const u8, len: usize) -> *mut u8;
}

/// Copies `len` bytes as fixed pieces that may overlap, with `$piece::<N>(to, from)`; longer ones with `$long`.
macro_rules! by_length {
    ($to:expr, $from:expr, $len:expr, $piece:ident, $long:expr) => {{
        let (to, from, len): (*mut u8, *const u8, usize) = ($to, $from, $len);
        if len == 8 {
            $piece::copy8(to, from);
        } else {
            match len {
                // First, so that the call vanishes where the length is known to be that of a cell at most.
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

/// Calls a copying function of the C library without telling the compiler which it is.
macro_rules! call {
    ($function:ident, $to:expr, $from:expr, $len:expr) => {
        asm!(
            "call {function}",
            function = sym $function,
            inout("rdi") $to => _,
            inout("rsi") $from => _,
            inout("rdx") $len => _,
            lateout("rax") _,
            clobber_abi("C"),
        )
    };
}

/// Reads from shared memory, plain writes.
mod loading {
    use super::*;

    macro_rules! copy {
        ($name:ident, $value:ty, $class:ident, $read:literal) => {
            /// # Safety
            /// `from` is readable and `to` is writable for the size of the value.
            #[inline(always)]
            pub unsafe fn $name(to: *mut u8, from: *const u8) {
                let value: $value;
                // SAFETY: one read of that size, as the caller permits; then a write to memory of this thread.
                unsafe {
                    asm!($read, value = out($class) value, from = in(reg) from,
                        options(nostack, preserves_flags, readonly));
                    to.cast::<$value>().write_unaligned(value);
                }
            }
        };
    }
    copy!(copy2, u16, reg, "mov {value:x}, word ptr [{from}]");
    copy!(copy4, u32, reg, "mov {value:e}, dword ptr [{from}]");
    copy!(copy8, u64, reg, "mov {value}, qword ptr [{from}]");
    copy!(copy16, __m128i, xmm_reg, "movups {value}, xmmword ptr [{from}]");
    copy!(copy1, u8, reg_byte, "mov {value}, byte ptr [{from}]");
}

/// Plain reads, writes to shared memory.
mod storing {
    use super::*;

    macro_rules! copy {
        ($name:ident, $value:ty, $class:ident, $write:literal) => {
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
        };
    }
    copy!(copy2, u16, reg, "mov word ptr [{to}], {value:x}");
    copy!(copy4, u32, reg, "mov dword ptr [{to}], {value:e}");
    copy!(copy8, u64, reg, "mov qword ptr [{to}], {value}");
    copy!(copy16, __m128i, xmm_reg, "movups xmmword ptr [{to}], {value}");
    copy!(copy1, u8, reg_byte, "mov byte ptr [{to}], {value}");
}

/// Returns true if the C library's `memcpy` may be slow: from 4 KB on it copies by `rep movsb`, at which processors are slow where the
/// target lies a few bytes further in its page than the source, as memory of `malloc` beside that of `mmap`. Zen 3 copies 8 KB so with
/// 2 GB/s, and downwards in registers with 70 to 90. Otherwise `memcpy` is as fast, and for what another processor reads next a fifth
/// faster; from 1 MB on it always is.
fn is_slow(to: *mut u8, from: *const u8, len: usize) -> bool {
    let further = to.addr().wrapping_sub(from.addr()) % 4096;
    (1..128).contains(&further) && (4 << 10..1 << 20).contains(&len)
}

/// # Safety
/// As [`std::ptr::copy_nonoverlapping`], but others may access the memory meanwhile.
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
/// As [`std::ptr::copy_nonoverlapping`], but others may access `from` meanwhile.
#[inline(always)]
pub(crate) unsafe fn load(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: every arm touches only the first `len` bytes of both ranges, which the caller vouches for.
    unsafe { by_length!(to, from, len, loading, long) }
}

/// Copies from memory of this thread to shared memory.
///
/// # Safety
/// As [`std::ptr::copy_nonoverlapping`], but others may access `to` meanwhile.
#[inline(always)]
pub(crate) unsafe fn store(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: as in `load`.
    unsafe { by_length!(to, from, len, storing, long) }
}

/// Copies between two places of shared memory, which may overlap.
///
/// # Safety
/// As [`std::ptr::copy`], but others may access both meanwhile.
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
/// As [`std::ptr::copy`].
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the ranges are the caller's.
    unsafe { transfer(to, from, len) }
}

/// Copies a line between two places of shared memory, with this instruction for its stores.
macro_rules! line {
    ($store:literal, $to:expr, $from:expr) => {
        asm!(
            "movups {a}, xmmword ptr [{from}]",
            "movups {b}, xmmword ptr [{from} + 16]",
            "movups {c}, xmmword ptr [{from} + 32]",
            "movups {d}, xmmword ptr [{from} + 48]",
            concat!($store, " xmmword ptr [{to}], {a}"),
            concat!($store, " xmmword ptr [{to} + 16], {b}"),
            concat!($store, " xmmword ptr [{to} + 32], {c}"),
            concat!($store, " xmmword ptr [{to} + 48], {d}"),
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
            from = in(reg) $from, to = in(reg) $to,
            options(nostack, preserves_flags),
        )
    };
}

/// Copies a line between two places of shared memory, past the caches of this processor.
///
/// # Safety
/// Both places hold 64 bytes, and `to` is aligned to 16; others may access both meanwhile.
#[inline(always)]
pub(crate) unsafe fn stream_line(to: *mut u8, from: *const u8) {
    // SAFETY: as the caller says; the instructions are part of every x86-64 processor.
    unsafe { line!("movntps", to, from) }
}

/// Copies a line between two places of shared memory.
///
/// # Safety
/// Both places hold 64 bytes; others may access both meanwhile.
#[inline(always)]
pub(crate) unsafe fn transfer_line(to: *mut u8, from: *const u8) {
    // SAFETY: as the caller says.
    unsafe { line!("movups", to, from) }
}

pub(crate) use loading::copy16 as load16;

/// Copies 64 bytes from shared memory to memory of this thread, in wide registers.
///
/// # Safety
/// As [`load`]; the processor has AVX.
#[inline]
#[target_feature(enable = "avx")]
pub(crate) unsafe fn load_wide_block(to: *mut u8, from: *const u8) {
    let (low, high): (__m256i, __m256i);
    // SAFETY: both ranges hold 64 bytes, as the caller says.
    unsafe {
        asm!(
            "vmovups {low}, ymmword ptr [{from}]",
            "vmovups {high}, ymmword ptr [{from} + 32]",
            low = out(ymm_reg) low, high = out(ymm_reg) high, from = in(reg) from,
            options(nostack, preserves_flags, readonly),
        );
        _mm256_storeu_si256(to.cast(), low);
        _mm256_storeu_si256(to.add(32).cast(), high);
    }
}
