//! The signs of residuals for all operands: huge, subnormal, infinite, and NaN.
//!
//! Each function returns a number with the sign of the residual; 0 if the result is exact or stays unchanged.

use std::cmp::Ordering;

/// Returns the residual of a b.
#[cold]
#[inline(never)]
pub fn residual_of_product(a: f64, b: f64, near: f64) -> f64 {
    if a == 0.0 || b == 0.0 || !(a.is_finite() && b.is_finite()) {
        return 0.0;
    }
    residual(Magnitude::of(a).times(Magnitude::of(b)), near, Magnitude::of(near))
}

/// Returns the residual of a / b.
#[cold]
#[inline(never)]
pub fn residual_of_quotient(a: f64, b: f64, near: f64) -> f64 {
    if a == 0.0 || b == 0.0 || !(a.is_finite() && b.is_finite()) {
        return 0.0;
    }
    residual(Magnitude::of(a), near, Magnitude::of(near).times(Magnitude::of(b)))
}

/// Returns the residual of the square root of a.
#[cold]
#[inline(never)]
pub fn residual_of_root(a: f64, near: f64) -> f64 {
    if a > 0.0 && a.is_finite() {
        residual(Magnitude::of(a), near, Magnitude::of(near).times(Magnitude::of(near)))
    } else {
        0.0
    }
}

/// Returns the residual if the ratio of the exact result to `near` is that of the magnitudes `exact` and
/// `rounded`.
fn residual(exact: Magnitude, near: f64, rounded: Magnitude) -> f64 {
    let away_from_zero = 1f64.copysign(near);
    if near.is_infinite() {
        return -away_from_zero;
    }
    match exact.compare(rounded) {
        Ordering::Greater => away_from_zero,
        Ordering::Equal => 0.0,
        Ordering::Less => -away_from_zero,
    }
}

/// The magnitude `integer` × 2^`exponent`.
#[derive(Clone, Copy)]
struct Magnitude {
    integer: u128,
    exponent: i32,
}

impl Magnitude {
    /// Returns the magnitude of a finite number. For other numbers the result has no meaning and is not used.
    fn of(value: f64) -> Self {
        let bits = value.to_bits();
        let (biased, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
        let integer = if biased == 0 { fraction } else { fraction | 1 << 52 };
        Self { integer: integer.into(), exponent: biased.max(1) - 1075 }
    }

    /// Returns the product of two magnitudes of 53 bits.
    fn times(self, other: Self) -> Self {
        Self { integer: self.integer * other.integer, exponent: self.exponent + other.exponent }
    }

    fn compare(self, other: Self) -> Ordering {
        if self.integer == 0 || other.integer == 0 {
            return self.integer.cmp(&other.integer);
        }
        let (own, its) = (self.integer.leading_zeros(), other.integer.leading_zeros());
        (self.exponent - own as i32)
            .cmp(&(other.exponent - its as i32))
            .then((self.integer << own).cmp(&(other.integer << its)))
    }
}
