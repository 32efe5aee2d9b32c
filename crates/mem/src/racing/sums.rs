//! Sums of numbers of this thread with numbers in shared memory, in place, by vector instructions.

use std::arch::asm;

use crate::window::LaneType;

/// Bytes that are added at a time.
pub(crate) const LINE: usize = 64;

/// Adds lines of numbers, with this instruction.
macro_rules! add {
    ($add:literal, $to:expr, $from:expr, $end:expr) => {
        asm!(
            "2:",
            "movups {a}, xmmword ptr [{from}]",
            "movups {b}, xmmword ptr [{from} + 16]",
            "movups {c}, xmmword ptr [{from} + 32]",
            "movups {d}, xmmword ptr [{from} + 48]",
            "movups {e}, xmmword ptr [{to}]",
            "movups {f}, xmmword ptr [{to} + 16]",
            "movups {g}, xmmword ptr [{to} + 32]",
            "movups {h}, xmmword ptr [{to} + 48]",
            concat!($add, " {e}, {a}"),
            concat!($add, " {f}, {b}"),
            concat!($add, " {g}, {c}"),
            concat!($add, " {h}, {d}"),
            "movups xmmword ptr [{to}], {e}",
            "movups xmmword ptr [{to} + 16], {f}",
            "movups xmmword ptr [{to} + 32], {g}",
            "movups xmmword ptr [{to} + 48], {h}",
            "add {from}, 64",
            "add {to}, 64",
            "cmp {from}, {end}",
            "jne 2b",
            a = out(xmm_reg) _, b = out(xmm_reg) _, c = out(xmm_reg) _, d = out(xmm_reg) _,
            e = out(xmm_reg) _, f = out(xmm_reg) _, g = out(xmm_reg) _, h = out(xmm_reg) _,
            from = inout(reg) $from => _, to = inout(reg) $to => _, end = in(reg) $end,
            options(nostack),
        )
    };
}

/// Adds the numbers from one place to those from another, `len` bytes of them.
///
/// # Safety
/// Both ranges are this long, `from` readable by this thread alone, `to` writable, where others may write meanwhile; `len` is a multiple of
/// [`LINE`].
pub(crate) unsafe fn add(numbers: LaneType, to: *mut u8, from: *const u8, len: usize) {
    if len == 0 {
        return;
    }
    let end = from.wrapping_add(len);
    // SAFETY: the loop ends where `from` is `end`, a multiple of its step further; the ranges are the caller's.
    unsafe {
        match numbers {
            LaneType::F64 => add!("addpd", to, from, end),
            LaneType::F32 => add!("addps", to, from, end),
            LaneType::I64 => add!("paddq", to, from, end),
            LaneType::I32 => add!("paddd", to, from, end),
            LaneType::I16 => add!("paddw", to, from, end),
            LaneType::I8 => add!("paddb", to, from, end),
        }
    }
}
