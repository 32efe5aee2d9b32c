//! Rounding by residuals in double precision.
//!
//! Residuals: for a sum only the side is found, by comparisons. For a product a fused multiply-add is used
//! where the target surely has one. Otherwise Dekker's product is used, because a library's fused
//! multiply-add is a call. Both give the same numbers. The residuals of quotient and square root follow from
//! that of a product. A residual that is not finite, or an operand so small that the residual may be lost,
//! leads to the slow path for all samples. The slow path takes numbers, not arrays: an array whose address is
//! taken would lie in memory on the fast path too.

use std::array::from_fn;

use super::{Residual, exact, rounded_sum};

/// Smallest product whose residual has normal size: the residual is at most 106 bits shorter.
const SMALLEST: f64 = f64::from_bits((1023 - 900) << 52);
/// Splits 53 bits into 26 and 26 with a sign (Veltkamp): 2^27 + 1.
const SPLITTER: f64 = 134_217_729.0;

impl Residual for f64 {
    #[inline(always)]
    fn sums<const N: usize>(a: [f64; N], b: [f64; N], up: [u64; N]) -> [f64; N] {
        from_fn(|k| rounded_sum(a[k], b[k], up[k]))
    }

    #[inline(always)]
    fn products<const N: usize>(a: [f64; N], b: [f64; N], up: [u64; N]) -> [f64; N] {
        let near: [f64; N] = from_fn(|k| a[k] * b[k]);
        let mut residual: [f64; N] = from_fn(|k| residual_of_product(a[k], b[k], near[k]));
        if !(all_finite(residual) && none_is_small(near)) {
            for (k, residual) in residual.iter_mut().enumerate() {
                *residual = exact::residual_of_product(a[k], b[k], near[k]);
            }
        }
        from_fn(|k| choose(near[k], residual[k], up[k]))
    }

    #[inline(always)]
    fn quotients<const N: usize>(a: [f64; N], b: [f64; N], up: [u64; N]) -> [f64; N] {
        let near: [f64; N] = from_fn(|k| a[k] / b[k]);
        let mut residual: [f64; N] = from_fn(|k| residual_of_factors(a[k], near[k], b[k]));
        if !(all_finite(residual) && none_is_small(a)) {
            for (k, residual) in residual.iter_mut().enumerate() {
                *residual = with_sign_of(exact::residual_of_quotient(a[k], b[k], near[k]), b[k]);
            }
        }
        // a - near b has the sign of the residual if b is positive.
        from_fn(|k| choose(near[k], with_sign_of(residual[k], b[k]), up[k]))
    }

    #[inline(always)]
    fn roots<const N: usize>(a: [f64; N], up: [u64; N]) -> [f64; N] {
        let near: [f64; N] = from_fn(|k| a[k].sqrt());
        let mut residual: [f64; N] = from_fn(|k| residual_of_factors(a[k], near[k], near[k]));
        if !(all_finite(residual) && none_is_small(a)) {
            for (k, residual) in residual.iter_mut().enumerate() {
                *residual = exact::residual_of_root(a[k], near[k]);
            }
        }
        from_fn(|k| choose(near[k], residual[k], up[k]))
    }
}

/// Returns a b - near.
#[inline(always)]
fn residual_of_product(a: f64, b: f64, near: f64) -> f64 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
        return a.mul_add(b, -near);
    }
    let ((a_high, a_low), (b_high, b_low)) = (split(a), split(b));
    ((a_high * b_high - near) + a_high * b_low + a_low * b_high) + a_low * b_low
}

/// Returns a - b c, where b c is near a.
#[inline(always)]
fn residual_of_factors(a: f64, b: f64, c: f64) -> f64 {
    let product = b * c;
    (a - product) - residual_of_product(b, c, product)
}

/// Returns a number as the sum of two of 26 bits; a NaN if it is too large to be split.
#[inline(always)]
fn split(value: f64) -> (f64, f64) {
    let scaled = SPLITTER * value;
    let high = scaled - (scaled - value);
    (high, value - high)
}

/// Returns `value`, with its sign changed if `other` is negative.
#[inline(always)]
fn with_sign_of(value: f64, other: f64) -> f64 {
    f64::from_bits(value.to_bits() ^ (other.to_bits() & (1 << 63)))
}

/// Returns false if any is infinite or a NaN. Residuals are far too small for their sum to be infinite.
#[inline(always)]
fn all_finite<const N: usize>(residual: [f64; N]) -> bool {
    let mut sum = residual[0];
    for one in &residual[1..] {
        sum += one;
    }
    sum.is_finite()
}

/// Returns true if the residual of each product of this size can be represented.
#[inline(always)]
fn none_is_small<const N: usize>(values: [f64; N]) -> bool {
    let mut least = values[0].abs();
    for value in &values[1..] {
        least = if value.abs() < least { value.abs() } else { least };
    }
    least > SMALLEST
}

/// Returns the nearest number, or its neighbour on the side of the residual if that lies in the chosen
/// direction.
#[inline(always)]
fn choose(near: f64, residual: f64, up: u64) -> f64 {
    let (bits, side) = (near.to_bits(), residual.to_bits());
    // One bit more leads away from zero, which is the side of a residual of the same sign.
    let step = ((bits ^ side) as i64 >> 63) as u64 | 1;
    let is_exact = u64::from(residual == 0.0);
    let is_chosen = up ^ (side as i64 >> 63) as u64;
    f64::from_bits(bits.wrapping_add(step & is_chosen & is_exact.wrapping_sub(1)))
}
