//! The loop over lines by instructions of aarch64.

/// Adds lines of numbers of this type.
macro_rules! add_lines {
    (F64, $($place:expr),*) => { add_lines!("fadd", "2d", $($place),*) };
    (F32, $($place:expr),*) => { add_lines!("fadd", "4s", $($place),*) };
    (I64, $($place:expr),*) => { add_lines!("add", "2d", $($place),*) };
    (I32, $($place:expr),*) => { add_lines!("add", "4s", $($place),*) };
    (I16, $($place:expr),*) => { add_lines!("add", "8h", $($place),*) };
    (I8, $($place:expr),*) => { add_lines!("add", "16b", $($place),*) };
    ($add:literal, $lanes:literal, $to:expr, $from:expr, $end:expr) => {
        std::arch::asm!(
            "2:",
            "ldp q0, q1, [{from}]",
            "ldp q2, q3, [{from}, 32]",
            "ldp q4, q5, [{to}]",
            "ldp q6, q7, [{to}, 32]",
            concat!($add, " v4.", $lanes, ", v4.", $lanes, ", v0.", $lanes),
            concat!($add, " v5.", $lanes, ", v5.", $lanes, ", v1.", $lanes),
            concat!($add, " v6.", $lanes, ", v6.", $lanes, ", v2.", $lanes),
            concat!($add, " v7.", $lanes, ", v7.", $lanes, ", v3.", $lanes),
            "stp q4, q5, [{to}]",
            "stp q6, q7, [{to}, 32]",
            "add {from}, {from}, 64",
            "add {to}, {to}, 64",
            "cmp {from}, {end}",
            "b.ne 2b",
            out("v0") _, out("v1") _, out("v2") _, out("v3") _, out("v4") _, out("v5") _, out("v6") _, out("v7") _,
            from = inout(reg) $from => _, to = inout(reg) $to => _, end = in(reg) $end,
            options(nostack),
        )
    };
}
pub(super) use add_lines;
