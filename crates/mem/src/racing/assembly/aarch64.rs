//! Instructions of aarch64.
//!
//! The C library's `memcpy` reads and writes each byte of a long copy once, in wide registers, so there is no
//! replacement here.

use std::arch::aarch64::uint8x16_t;
use std::arch::asm;

/// Calls a copying function of the C library without letting the compiler recognise it.
macro_rules! call {
    ($function:ident, $to:expr, $from:expr, $len:expr) => {
        asm!(
            "bl {function}",
            function = sym $function,
            inout("x0") $to => _,
            inout("x1") $from => _,
            inout("x2") $len => _,
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
        copy1 u8, reg, "ldrb {value:w}, [{from}]";
        copy2 u16, reg, "ldrh {value:w}, [{from}]";
        copy4 u32, reg, "ldr {value:w}, [{from}]";
        copy8 u64, reg, "ldr {value}, [{from}]";
        copy16 uint8x16_t, vreg, "ldr {value:q}, [{from}]";
    }
}

/// Writes to shared memory, with plain reads.
pub(super) mod storing {
    use super::super::writes;
    use super::*;

    writes! {
        copy1 u8, reg, "strb {value:w}, [{to}]";
        copy2 u16, reg, "strh {value:w}, [{to}]";
        copy4 u32, reg, "str {value:w}, [{to}]";
        copy8 u64, reg, "str {value}, [{to}]";
        copy16 uint8x16_t, vreg, "str {value:q}, [{to}]";
    }
}

/// Returns false: no distance is known at which the C library's `memcpy` is slow.
pub(super) fn is_slow(_to: *mut u8, _from: *const u8, _len: usize) -> bool {
    false
}

/// Copies a line between two places of shared memory, with a hint that this processor does not need the written line in its caches.
///
/// # Safety
/// Both places hold 64 bytes; others may access both meanwhile.
#[inline(always)]
pub(crate) unsafe fn stream_line(to: *mut u8, from: *const u8) {
    // SAFETY: as the caller says; the instructions are part of every aarch64 processor.
    unsafe {
        asm!(
            "ldp {a:q}, {b:q}, [{from}]",
            "ldp {c:q}, {d:q}, [{from}, 32]",
            "stnp {a:q}, {b:q}, [{to}]",
            "stnp {c:q}, {d:q}, [{to}, 32]",
            a = out(vreg) _, b = out(vreg) _, c = out(vreg) _, d = out(vreg) _,
            from = in(reg) from, to = in(reg) to,
            options(nostack, preserves_flags),
        );
    }
}
