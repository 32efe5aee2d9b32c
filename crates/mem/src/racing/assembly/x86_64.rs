//! Instructions of x86-64.

use std::arch::asm;
use std::arch::x86_64::{__m128i, __m256i, _mm256_storeu_si256};

/// Calls a copying function of the C library without letting the compiler recognise it.
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
pub(super) use call;

/// Reads from shared memory, with plain writes.
pub(super) mod loading {
    use super::super::reads;
    use super::*;

    reads! {
        copy2 u16, reg, "mov {value:x}, word ptr [{from}]";
        copy4 u32, reg, "mov {value:e}, dword ptr [{from}]";
        copy8 u64, reg, "mov {value}, qword ptr [{from}]";
        copy16 __m128i, xmm_reg, "movups {value}, xmmword ptr [{from}]";
        copy1 u8, reg_byte, "mov {value}, byte ptr [{from}]";
    }
}

/// Writes to shared memory, with plain reads.
pub(super) mod storing {
    use super::super::writes;
    use super::*;

    writes! {
        copy2 u16, reg, "mov word ptr [{to}], {value:x}";
        copy4 u32, reg, "mov dword ptr [{to}], {value:e}";
        copy8 u64, reg, "mov qword ptr [{to}], {value}";
        copy16 __m128i, xmm_reg, "movups xmmword ptr [{to}], {value}";
        copy1 u8, reg_byte, "mov byte ptr [{to}], {value}";
    }
}

/// Returns true if the C library's `memcpy` may be slow. From 4 KB on it copies by `rep movsb`, which is slow
/// if the target lies a few bytes further in its page than the source. Memory of `malloc` beside memory of
/// `mmap` is an example. Zen 3 then copies 8 KB with 2 GB/s, and downwards in registers with 70 to 90.
/// Otherwise `memcpy` is as fast, and a fifth faster for data that another processor reads next. From 1 MB on
/// it is always as fast.
pub(super) fn is_slow(to: *mut u8, from: *const u8, len: usize) -> bool {
    let further = to.addr().wrapping_sub(from.addr()) % 4096;
    (1..128).contains(&further) && (4 << 10..1 << 20).contains(&len)
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
/// The conditions of [`load`] apply; also, the processor has AVX.
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
