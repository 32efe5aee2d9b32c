//! Operations whose results are rounded up or down at random.
//!
//! Where the processor's instructions can name their direction (AVX-512), each result is computed in both, and a random
//! bit selects one ([`directed`]). Elsewhere it comes from the nearest number and the sign of the error
//! ([`residual`]). Both ways have the same results to the last bit.
//!
//! The processor's rounding mode is never changed. Rust and LLVM assume the default mode, to nearest: they compute
//! constants at compile time, move operations over a change of the mode, and may compute one operation for two.

#[expect(unsafe_code, reason = "instructions that name the direction of their rounding have no safe form")]
pub mod directed;
pub mod residual;
#[cfg(test)]
mod tests;

use std::array::from_fn;
use std::fmt::{Debug, LowerExp, UpperExp};

use canele::Plain;
use directed::{DirectedRounding, RoundedBothWays};

use residual::Residual;

/// The ordinary numbers under stochastic ones: `f64` and `f32`.
///
/// Each operation takes N samples at once and a mask for each sample: all ones to round up, 0 to round down. An exact
/// result stays as it is. So do infinities of infinite operands and of divisions by zero, and an exact zero keeps the
/// sign that it has to nearest. A finite result that is too large is infinite or the largest number.
pub trait Float:
    Copy + Debug + PartialOrd + UpperExp + LowerExp + Plain + Send + Sync + RoundedBothWays + Residual + 'static
{
    /// Decimal digits of the type's precision, rounded down.
    const DIGITS: u32;
    /// The number 0.
    const ZERO: Self;
    /// The number with its sign changed, which is exact.
    fn negated(self) -> Self;
    /// The number in double precision, which is exact.
    fn to_f64(self) -> f64;
    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;
    /// The number itself, or no number if all bits of the mask are set.
    #[doc(hidden)]
    fn masked(self, mask: u64) -> Self;

    /// The sums of `a` and `b`.
    #[inline(always)]
    fn add<const N: usize>(a: [Self; N], b: [Self; N], up: [u64; N]) -> [Self; N] {
        match DirectedRounding::detect() {
            Some(proof) => from_fn(|k| select(a[k].sum(b[k], proof), up[k])),
            None => Residual::sums(a, b, up),
        }
    }

    /// The products of `a` and `b`.
    #[inline(always)]
    fn mul<const N: usize>(a: [Self; N], b: [Self; N], up: [u64; N]) -> [Self; N] {
        match DirectedRounding::detect() {
            Some(proof) => from_fn(|k| select(a[k].product(b[k], proof), up[k])),
            None => Residual::products(a, b, up),
        }
    }

    /// The quotients of `a` by `b`.
    #[inline(always)]
    fn div<const N: usize>(a: [Self; N], b: [Self; N], up: [u64; N]) -> [Self; N] {
        match DirectedRounding::detect() {
            Some(proof) => from_fn(|k| select(a[k].quotient(b[k], proof), up[k])),
            None => Residual::quotients(a, b, up),
        }
    }

    /// The square roots of `a`.
    #[inline(always)]
    fn sqrt<const N: usize>(a: [Self; N], up: [u64; N]) -> [Self; N] {
        match DirectedRounding::detect() {
            Some(proof) => from_fn(|k| select(a[k].root(proof), up[k])),
            None => Residual::roots(a, up),
        }
    }
}

/// One of two roundings. Of two zeros it is the upper one, which has the sign of a sum that is rounded to nearest; a
/// comparison with what is no number is false. The processor has one instruction for this minimum.
#[inline(always)]
fn select<F: Float>([down, upper]: [F; 2], up: u64) -> F {
    let lower = down.masked(up);
    if lower < upper { lower } else { upper }
}

impl Float for f64 {
    const DIGITS: u32 = 15;
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn negated(self) -> Self {
        -self
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn masked(self, mask: u64) -> Self {
        f64::from_bits(self.to_bits() | mask)
    }
}

impl Float for f32 {
    const DIGITS: u32 = 7;
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn negated(self) -> Self {
        -self
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.into()
    }

    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn masked(self, mask: u64) -> Self {
        f32::from_bits(self.to_bits() | mask as u32)
    }
}
