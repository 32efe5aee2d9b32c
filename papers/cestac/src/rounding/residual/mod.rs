//! Rounding up and down by the error of the nearest number, on any processor.
//!
//! An operation is computed to nearest, and its *residual* (exact result minus rounded result) is computed without error:
//!
//! ```text
//!   down             up        The nearest number is one of the two directed roundings. The other one is
//!    |---+-----------|         its neighbour on the side of the residual; both are the same number if the
//!   near exact     other       residual is 0.
//!    |-->|
//!    residual > 0
//! ```
//!
//! A neighbour is one step of the number's bits read as an integer, so the choice takes no branch. Where a residual
//! cannot be represented (`exact`) the sign of the residual is found with integers.

mod double;
mod exact;
mod single;

/// A number with operations that are rounded by their residuals: `f64` and `f32`. Parameters and results are those of
/// [`Float`](super::Float).
pub trait Residual: Sized {
    /// The sums of `a` and `b`.
    fn sums<const N: usize>(a: [Self; N], b: [Self; N], up: [u64; N]) -> [Self; N];
    /// The products of `a` and `b`.
    fn products<const N: usize>(a: [Self; N], b: [Self; N], up: [u64; N]) -> [Self; N];
    /// The quotients of `a` by `b`.
    fn quotients<const N: usize>(a: [Self; N], b: [Self; N], up: [u64; N]) -> [Self; N];
    /// The square roots of `a`.
    fn roots<const N: usize>(a: [Self; N], up: [u64; N]) -> [Self; N];
}

/// One of [`Residual::sums`]. Takes numbers, not arrays: these would lie in memory where they are rarely needed.
#[inline(never)]
pub fn sum<F: Residual>(a: F, b: F, up: u64) -> F {
    let [sum] = F::sums([a], [b], [up]);
    sum
}

/// One of [`Residual::products`]. Takes numbers, not arrays: these would lie in memory where they are rarely needed.
#[inline(never)]
pub fn product<F: Residual>(a: F, b: F, up: u64) -> F {
    let [product] = F::products([a], [b], [up]);
    product
}

/// One of [`Residual::quotients`]. Takes numbers, not arrays: these would lie in memory where they are rarely needed.
#[inline(never)]
pub fn quotient<F: Residual>(a: F, b: F, up: u64) -> F {
    let [quotient] = F::quotients([a], [b], [up]);
    quotient
}

/// One of [`Residual::roots`]. Takes numbers, not arrays: these would lie in memory where they are rarely needed.
#[inline(never)]
pub fn root<F: Residual>(a: F, up: u64) -> F {
    let [root] = F::roots([a], [up]);
    root
}
