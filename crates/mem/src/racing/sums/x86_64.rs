//! The loop over lines by instructions of x86-64.

/// Adds lines of numbers of this type.
macro_rules! add_lines {
    (F64, $($place:expr),*) => { add_lines!("addpd", $($place),*) };
    (F32, $($place:expr),*) => { add_lines!("addps", $($place),*) };
    (I64, $($place:expr),*) => { add_lines!("paddq", $($place),*) };
    (I32, $($place:expr),*) => { add_lines!("paddd", $($place),*) };
    (I16, $($place:expr),*) => { add_lines!("paddw", $($place),*) };
    (I8, $($place:expr),*) => { add_lines!("paddb", $($place),*) };
    ($add:literal, $to:expr, $from:expr, $end:expr) => {
        std::arch::asm!(
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
pub(super) use add_lines;
