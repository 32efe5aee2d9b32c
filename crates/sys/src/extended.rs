//! Arithmetic on the processor's 80-bit extended numbers, C's `long double` on x86, for which Rust has no
//! type.
//!
//! A number is its 16 bytes in memory; the last 6 mean nothing and are zero in results. Rounding follows the
//! x87's control word: by default to nearest, ties to even, with all 64 bits of precision. Never keeps
//! anything on the x87's stack between two calls.

use std::arch::asm;
use std::cmp::Ordering;

/// An extended number as it lies in memory.
pub type Extended = [u8; 16];

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident $instruction:literal)*) => {$(
        $(#[$doc])*
        pub fn $name(a: Extended, b: Extended) -> Extended {
            let mut result = [0; 16];
            // SAFETY: 10 bytes are read of each operand and written to the result, which has 16. The x87's
            // stack is empty before, since every register of it is declared clobbered, and after.
            unsafe {
                asm!(
                    "fld tbyte ptr [{a}]",
                    "fld tbyte ptr [{b}]",
                    $instruction,
                    "fstp tbyte ptr [{result}]",
                    a = in(reg) &a,
                    b = in(reg) &b,
                    result = in(reg) &mut result,
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack),
                );
            }
            result
        }
    )*};
}
operations! {
    /// Returns the sum.
    add "faddp st(1), st"
    /// Returns the first number minus the second.
    subtract "fsubp st(1), st"
    /// Returns the product.
    multiply "fmulp st(1), st"
}

/// Returns the sign with the exponent, and the mantissa with its leading one.
fn parts(x: Extended) -> (u16, u64) {
    let [low @ .., _, _, _, _, _, _, _, _] = x;
    (u16::from_le_bytes([x[8], x[9]]), u64::from_le_bytes(low))
}

/// Returns true if the sign bit is set.
pub fn is_negative(x: Extended) -> bool {
    parts(x).0 >> 15 == 1
}

/// Returns true for a NaN or an encoding that the processor refuses.
pub fn is_nan(x: Extended) -> bool {
    let (exponent, mantissa) = (parts(x).0 & 0x7fff, parts(x).1);
    match exponent {
        0 => false,
        0x7fff => mantissa != 1 << 63,
        _ => mantissa >> 63 == 0,
    }
}

/// Compares two numbers; none if one is a NaN. Zeros are equal.
pub fn compare(a: Extended, b: Extended) -> Option<Ordering> {
    let signed = |x| {
        let (exponent, mantissa) = parts(x);
        let magnitude = i128::from(exponent & 0x7fff) << 64 | i128::from(mantissa);
        if is_negative(x) { -magnitude } else { magnitude }
    };
    (!is_nan(a) && !is_nan(b)).then(|| signed(a).cmp(&signed(b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Converts a 64-bit number, which extended precision represents exactly.
    fn of(x: f64) -> Extended {
        let mut result = [0; 16];
        // SAFETY: 8 bytes are read and 10 written; the x87's stack is empty before and after.
        unsafe {
            asm!(
                "fld qword ptr [{x}]", "fstp tbyte ptr [{result}]", x = in(reg) &x, result = in(reg) &mut result,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _, options(nostack),
            );
        }
        result
    }

    fn bytes(sign_and_exponent: u16, mantissa: u64) -> Extended {
        let mut result = [0; 16];
        result[..8].copy_from_slice(&mantissa.to_le_bytes());
        result[8..10].copy_from_slice(&sign_and_exponent.to_le_bytes());
        result
    }

    #[test]
    fn all_64_bits_of_the_mantissa_count() {
        let one = bytes(0x3fff, 1 << 63);
        let ulp = bytes(0x3fff - 63, 1 << 63);
        let half_ulp = bytes(0x3fff - 64, 1 << 63);
        assert_eq!(of(1.0), one);
        assert_eq!(add(one, ulp), bytes(0x3fff, 1 << 63 | 1));
        assert_eq!(add(one, half_ulp), one, "ties go to even");
        assert_eq!(add(add(one, ulp), half_ulp), bytes(0x3fff, 1 << 63 | 2), "ties go to even");
        assert_eq!(subtract(add(one, ulp), one), ulp);
        let long = bytes(0x3fff, u64::MAX);
        assert_eq!(multiply(long, long), bytes(0x4000, u64::MAX - 1));
        let (huge, tiny) = (bytes(0x7ffe, u64::MAX), bytes(0, 1));
        assert_eq!(add(huge, huge), of(f64::INFINITY));
        assert_eq!(subtract(tiny, tiny), of(0.0));
        assert_eq!(compare(tiny, of(0.0)), Some(Ordering::Greater));
        assert_eq!(compare(huge, of(f64::INFINITY)), Some(Ordering::Less));
    }

    #[test]
    fn what_is_no_number_compares_with_nothing() {
        for nan in [of(f64::NAN), of(-f64::NAN), bytes(0x3fff, 1), bytes(0x7fff, 0)] {
            assert!(is_nan(nan));
            assert_eq!(compare(nan, of(1.0)), None);
        }
        assert!(!is_nan(of(f64::INFINITY)) && !is_nan(of(0.0)) && !is_nan(bytes(0, 5)));
        assert_eq!(compare(of(-0.0), of(0.0)), Some(Ordering::Equal));
    }

    proptest! {
        #[test]
        fn exact_results_are_those_of_64_bit_numbers(a in -1i32 << 24..1 << 24, b in -1i32 << 24..1 << 24) {
            let (a, b) = (f64::from(a), f64::from(b));
            // A product that is zero has the sign of its operands.
            prop_assert_eq!(add(of(a), of(b)), of(a + b));
            prop_assert_eq!(subtract(of(a), of(b)), of(a - b));
            prop_assert_eq!(multiply(of(a), of(b)), of(a * b));
        }

        #[test]
        fn numbers_compare_as_64_bit_numbers_do(a: f64, b: f64) {
            prop_assert_eq!(compare(of(a), of(b)), a.partial_cmp(&b));
            prop_assert_eq!(is_negative(of(a)), a.is_sign_negative());
            prop_assert_eq!(is_nan(of(a)), a.is_nan());
        }
    }
}
