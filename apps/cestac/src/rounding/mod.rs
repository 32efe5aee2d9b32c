//! Operations whose results are rounded up or down at random.
//!
//! The processor's rounding mode is never changed. Rust and LLVM assume the default mode, to nearest: they compute
//! constants at compile time, move operations over a change of the mode, and may compute one operation for two. So an
//! operation is computed to nearest, and its *residual* (exact result minus rounded result) is computed without error:
//!
//! ```text
//!   down             up        The nearest number is one of the two directed roundings. The other one is
//!    |---+-----------|         its neighbour on the side of the residual; both are the same number if the
//!   near exact     other       residual is 0. A fair bit that chooses between these two chooses up or down
//!    |-->|                     with probability 1/2 each.
//!    residual > 0
//! ```
//!
//! A neighbour is one step of the number's bits read as an integer, so the choice takes no branch. Where a residual
//! cannot be represented (`exact`) the sign of the residual is found with integers.

mod double;
mod exact;
mod single;
#[cfg(test)]
mod tests;

use std::fmt::{Debug, LowerExp, UpperExp};

use canele::Plain;

/// The ordinary numbers under stochastic ones: `f64` and `f32`.
///
/// Each operation takes N samples at once and one bit for each sample: all ones for the neighbour on the side of the
/// residual, 0 for the nearest number. An exact result stays as it is. So do infinities of infinite operands and of
/// divisions by zero, and an exact zero keeps the sign that it has to nearest. A finite result that is too large is
/// infinite or the largest number.
pub trait Float: Copy + Debug + PartialEq + UpperExp + LowerExp + Plain + Send + Sync + 'static {
    /// Decimal digits of the type's precision, rounded down.
    const DIGITS: u32;
    /// The number 0.
    const ZERO: Self;
    /// The sums of `a` and `b`.
    fn add<const N: usize>(a: [Self; N], b: [Self; N], chosen: [u64; N]) -> [Self; N];
    /// The products of `a` and `b`.
    fn mul<const N: usize>(a: [Self; N], b: [Self; N], chosen: [u64; N]) -> [Self; N];
    /// The quotients of `a` by `b`.
    fn div<const N: usize>(a: [Self; N], b: [Self; N], chosen: [u64; N]) -> [Self; N];
    /// The square roots of `a`.
    fn sqrt<const N: usize>(a: [Self; N], chosen: [u64; N]) -> [Self; N];
    /// The number with its sign changed, which is exact.
    fn negated(self) -> Self;
    /// The number in double precision, which is exact.
    fn to_f64(self) -> f64;
    /// The nearest number of this type.
    fn from_f64(value: f64) -> Self;
}
