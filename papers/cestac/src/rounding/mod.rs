//! Operations whose results are rounded up or down at random.
//!
//! If the processor has instructions with a direction (AVX-512), each sum and product is computed in both,
//! and a random bit selects one ([`directed`]). Other results come from the nearest number and the sign of
//! its error. They are computed in vectors with fused multiply-adds ([`fused`]), or else one by one
//! ([`residual`]). All [`Instructions`] give the same results to the last bit.
//!
//! The processor's rounding mode is never changed, because Rust and LLVM assume the default mode, to nearest.
//! They compute constants at compile time, move operations over a change of the mode, and may merge two
//! operations.

#[cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "instructions that name the direction of their rounding have no safe form")
)]
pub mod directed;
#[cfg_attr(
    not(target_arch = "x86_64"),
    allow(dead_code, reason = "some tables are of the instructions of x86-64")
)]
mod directions;
#[cfg_attr(
    target_arch = "x86_64",
    expect(
        unsafe_code,
        reason = "vectors and fused multiply-adds have no safe form where the target may lack them"
    )
)]
pub mod fused;
pub mod residual;
#[cfg(test)]
mod tests;

use std::array::from_fn;
use std::fmt::{Debug, LowerExp, UpperExp};

use canele::Plain;
use directed::Directed;
pub(crate) use directions::FIRST_BIT;
pub use directions::{Directions, Instructions};
use fused::Fused;

use residual::Residual;

/// Portable instructions are the fastest here, so they are inlined.
const IS_PORTABLE: bool = cfg!(not(target_arch = "x86_64"));

/// The ordinary numbers under stochastic ones: `f64` and `f32`.
///
/// Each operation takes N samples at once and the [`Directions`] of their rounding. An exact result stays
/// unchanged. So do infinities of infinite operands and of divisions by zero, and the sign of an exact zero
/// rounded to nearest. A finite result that is too large becomes infinite or the largest number.
///
/// Each operation has a fast part, which is compiled into the caller. The rest is in functions that are
/// rarely called or, for one sample, calls one.
pub trait Float:
    Copy + Debug + PartialOrd + UpperExp + LowerExp + Plain + Send + Sync + Directed + Fused + Residual + 'static
{
    /// Decimal digits of the type's precision, rounded down.
    const DIGITS: u32;
    /// The number 0.
    const ZERO: Self;
    /// Returns the number with its sign changed, which is exact.
    fn negated(self) -> Self;
    /// Returns the number in double precision, which is exact.
    fn to_f64(self) -> f64;
    /// Returns the nearest number of this type.
    fn from_f64(value: f64) -> Self;

    /// Returns the sums of `a` and `b`.
    #[inline(always)]
    fn add<const N: usize>(a: [Self; N], b: [Self; N], directions: Directions<N>) -> [Self; N] {
        Self::add_fast(a, b, directions).unwrap_or_else(|| {
            let up = directions.masks();
            if N == 1 { from_fn(|k| residual::sum(a[k], b[k], up[k])) } else { Residual::sums(a, b, up) }
        })
    }

    /// Returns the sums of `a` and `b`, unless the slow path is required.
    #[inline(always)]
    fn add_fast<const N: usize>(a: [Self; N], b: [Self; N], directions: Directions<N>) -> Option<[Self; N]> {
        match directions.instructions() {
            Some(Instructions::Directed(proof, _)) => {
                let up = directions.masks();
                Some(from_fn(|k| a[k].directed_sum(b[k], up[k], proof)))
            }
            Some(Instructions::Fused(proof)) => Some(Fused::sums(a, b, directions, proof)),
            Some(Instructions::Portable) if IS_PORTABLE => Some(Residual::sums(a, b, directions.masks())),
            _ => None,
        }
    }

    /// Returns the products of `a` and `b`.
    #[inline(always)]
    fn mul<const N: usize>(a: [Self; N], b: [Self; N], directions: Directions<N>) -> [Self; N] {
        Self::mul_fast(a, b, directions).unwrap_or_else(|| {
            let up = directions.masks();
            if N == 1 {
                from_fn(|k| residual::product(a[k], b[k], up[k]))
            } else {
                Residual::products(a, b, up)
            }
        })
    }

    /// Returns the products of `a` and `b`, unless the slow path is required.
    #[inline(always)]
    fn mul_fast<const N: usize>(a: [Self; N], b: [Self; N], directions: Directions<N>) -> Option<[Self; N]> {
        match directions.instructions() {
            Some(Instructions::Directed(proof, _)) => {
                let up = directions.masks();
                Some(from_fn(|k| a[k].directed_product(b[k], up[k], proof)))
            }
            Some(Instructions::Fused(proof)) => Fused::products(a, b, directions, proof),
            Some(Instructions::Portable) if IS_PORTABLE => Some(Residual::products(a, b, directions.masks())),
            _ => None,
        }
    }

    /// Returns the quotients of `a` by `b`.
    #[inline(always)]
    fn div<const N: usize>(a: [Self; N], b: [Self; N], directions: Directions<N>) -> [Self; N] {
        Self::div_fast(a, b, directions).unwrap_or_else(|| {
            let up = directions.masks();
            if N == 1 {
                from_fn(|k| residual::quotient(a[k], b[k], up[k]))
            } else {
                Residual::quotients(a, b, up)
            }
        })
    }

    /// Returns the quotients of `a` by `b`, unless the slow path is required.
    #[inline(always)]
    fn div_fast<const N: usize>(a: [Self; N], b: [Self; N], directions: Directions<N>) -> Option<[Self; N]> {
        match directions.instructions() {
            Some(Instructions::Directed(_, proof) | Instructions::Fused(proof)) => {
                Fused::quotients(a, b, directions, proof)
            }
            Some(Instructions::Portable) if IS_PORTABLE => {
                Some(Residual::quotients(a, b, directions.masks()))
            }
            _ => None,
        }
    }

    /// Returns the square roots of `a`.
    #[inline(always)]
    fn sqrt<const N: usize>(a: [Self; N], directions: Directions<N>) -> [Self; N] {
        Self::sqrt_fast(a, directions).unwrap_or_else(|| {
            let up = directions.masks();
            if N == 1 { from_fn(|k| residual::root(a[k], up[k])) } else { Residual::roots(a, up) }
        })
    }

    /// Returns the square roots of `a`, unless the slow path is required.
    #[inline(always)]
    fn sqrt_fast<const N: usize>(a: [Self; N], directions: Directions<N>) -> Option<[Self; N]> {
        match directions.instructions() {
            Some(Instructions::Directed(_, proof) | Instructions::Fused(proof)) => {
                Fused::roots(a, directions, proof)
            }
            Some(Instructions::Portable) if IS_PORTABLE => Some(Residual::roots(a, directions.masks())),
            _ => None,
        }
    }
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
}
