//! The operations on two numbers, for each type of number.

use std::cmp::Ordering;

use bytemuck::Pod;
#[cfg(target_arch = "x86_64")]
use canele_sys::extended::{self as long_double, Extended as LongDoubleBytes};
#[cfg(not(target_arch = "x86_64"))]
use canele_sys::quad::{self as long_double, Quad as LongDoubleBytes};

use super::{bfloat, half};

/// Numbers that can be ordered.
pub(super) trait Arithmetic {
    /// The type in memory.
    type Stored: Pod;
    fn sum(a: Self::Stored, b: Self::Stored) -> Self::Stored;
    fn product(a: Self::Stored, b: Self::Stored) -> Self::Stored;
    fn smaller(a: Self::Stored, b: Self::Stored) -> Self::Stored;
    fn larger(a: Self::Stored, b: Self::Stored) -> Self::Stored;
    /// Returns true if it is not a number.
    fn is_nan(a: Self::Stored) -> bool;
    /// Compares two values; none if one is not a number.
    fn order(a: Self::Stored, b: Self::Stored) -> Option<Ordering>;
}

/// Numbers that complex numbers consist of.
pub(super) trait Float: Arithmetic {
    fn difference(a: Self::Stored, b: Self::Stored) -> Self::Stored;
}

/// Integers, with bit operations.
pub(super) trait IntegerNumber: Pod {
    fn and(a: Self, b: Self) -> Self;
    fn or(a: Self, b: Self) -> Self;
    fn xor(a: Self, b: Self) -> Self;
    fn is_true(a: Self) -> bool;
    fn truth(value: bool) -> Self;
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl Arithmetic for $t {
            type Stored = $t;
            fn sum(a: $t, b: $t) -> $t {
                a.wrapping_add(b)
            }
            fn product(a: $t, b: $t) -> $t {
                a.wrapping_mul(b)
            }
            fn smaller(a: $t, b: $t) -> $t {
                a.min(b)
            }
            fn larger(a: $t, b: $t) -> $t {
                a.max(b)
            }
            fn is_nan(_: $t) -> bool {
                false
            }
            fn order(a: $t, b: $t) -> Option<Ordering> {
                Some(a.cmp(&b))
            }
        }
        impl IntegerNumber for $t {
            fn and(a: $t, b: $t) -> $t {
                a & b
            }
            fn or(a: $t, b: $t) -> $t {
                a | b
            }
            fn xor(a: $t, b: $t) -> $t {
                a ^ b
            }
            fn is_true(a: $t) -> bool {
                a != 0
            }
            fn truth(value: bool) -> $t {
                <$t>::from(value)
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 i128 u8 u16 u32 u64);

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl Arithmetic for $t {
            type Stored = $t;
            fn sum(a: $t, b: $t) -> $t {
                a + b
            }
            fn product(a: $t, b: $t) -> $t {
                a * b
            }
            // The standard library leaves the sign of a zero result open; here all ranks must agree on it.
            // Without branches the compiler combines several numbers at once.
            fn smaller(a: $t, b: $t) -> $t {
                if b.is_nan() | (a < b) | ((a == b) & a.is_sign_negative()) { a } else { b }
            }
            fn larger(a: $t, b: $t) -> $t {
                if b.is_nan() | (a > b) | ((a == b) & a.is_sign_positive()) { a } else { b }
            }
            fn is_nan(a: $t) -> bool {
                a.is_nan()
            }
            fn order(a: $t, b: $t) -> Option<Ordering> {
                a.partial_cmp(&b)
            }
        }
        impl Float for $t {
            fn difference(a: $t, b: $t) -> $t {
                a - b
            }
        }
    )*};
}
floats!(f32 f64);

/// Implements arithmetic of 16-bit numbers by that of 32 bits. A rounded 32-bit sum or product equals the
/// correctly rounded result.
macro_rules! narrow {
    ($($(#[$doc:meta])* $name:ident in $format:ident;)*) => {$(
        $(#[$doc])*
        pub(super) struct $name;

        impl Arithmetic for $name {
            type Stored = u16;
            fn sum(a: u16, b: u16) -> u16 {
                $format::rounded($format::widened(a) + $format::widened(b))
            }
            fn product(a: u16, b: u16) -> u16 {
                $format::rounded($format::widened(a) * $format::widened(b))
            }
            fn smaller(a: u16, b: u16) -> u16 {
                $format::rounded(f32::smaller($format::widened(a), $format::widened(b)))
            }
            fn larger(a: u16, b: u16) -> u16 {
                $format::rounded(f32::larger($format::widened(a), $format::widened(b)))
            }
            fn is_nan(a: u16) -> bool {
                $format::widened(a).is_nan()
            }
            fn order(a: u16, b: u16) -> Option<Ordering> {
                $format::widened(a).partial_cmp(&$format::widened(b))
            }
        }
    )*};
}
narrow! {
    /// Numbers of IEEE 754 binary16.
    Half in half;
    /// Numbers of bfloat16.
    Bfloat in bfloat;
}

impl Float for Half {
    fn difference(a: u16, b: u16) -> u16 {
        half::rounded(half::widened(a) - half::widened(b))
    }
}

/// C's `long double` in 16 bytes: 80 bits on x86-64, 128 bits elsewhere.
pub(super) struct LongDouble;

impl Arithmetic for LongDouble {
    type Stored = LongDoubleBytes;
    fn sum(a: Self::Stored, b: Self::Stored) -> Self::Stored {
        long_double::add(a, b)
    }
    fn product(a: Self::Stored, b: Self::Stored) -> Self::Stored {
        long_double::multiply(a, b)
    }
    fn smaller(a: Self::Stored, b: Self::Stored) -> Self::Stored {
        let first = match Self::order(a, b) {
            Some(Ordering::Equal) => long_double::is_negative(a),
            Some(order) => order.is_lt(),
            None => long_double::is_nan(b),
        };
        if first { a } else { b }
    }
    fn larger(a: Self::Stored, b: Self::Stored) -> Self::Stored {
        let first = match Self::order(a, b) {
            Some(Ordering::Equal) => !long_double::is_negative(a),
            Some(order) => order.is_gt(),
            None => long_double::is_nan(b),
        };
        if first { a } else { b }
    }
    fn is_nan(a: Self::Stored) -> bool {
        long_double::is_nan(a)
    }
    fn order(a: Self::Stored, b: Self::Stored) -> Option<Ordering> {
        long_double::compare(a, b)
    }
}

impl Float for LongDouble {
    fn difference(a: Self::Stored, b: Self::Stored) -> Self::Stored {
        long_double::subtract(a, b)
    }
}
