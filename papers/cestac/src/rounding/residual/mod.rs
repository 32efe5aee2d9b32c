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
//! A neighbour is one step of the number's bits read as an integer, so the choice takes no branch. If a
//! residual cannot be represented (`exact`), its sign is found with integers.

mod double;
mod exact;
mod single;

/// A number with operations rounded by their residuals: `f64` and `f32`. Parameters and results are those of
/// [`Float`](super::Float).
pub trait Residual: Sized {
    /// Returns the sums of `a` and `b`.
    fn sums<const N: usize>(a: [Self; N], b: [Self; N], up: [u64; N]) -> [Self; N];
    /// Returns the products of `a` and `b`.
    fn products<const N: usize>(a: [Self; N], b: [Self; N], up: [u64; N]) -> [Self; N];
    /// Returns the quotients of `a` by `b`.
    fn quotients<const N: usize>(a: [Self; N], b: [Self; N], up: [u64; N]) -> [Self; N];
    /// Returns the square roots of `a`.
    fn roots<const N: usize>(a: [Self; N], up: [u64; N]) -> [Self; N];
}

/// Returns one of [`Residual::sums`]. It takes numbers, because arrays would lie in memory where they are
/// rarely needed.
#[inline(never)]
pub fn sum<F: Residual>(a: F, b: F, up: u64) -> F {
    let [sum] = F::sums([a], [b], [up]);
    sum
}

/// Returns one of [`Residual::products`]. It takes numbers, because arrays would lie in memory where they are
/// rarely needed.
#[inline(never)]
pub fn product<F: Residual>(a: F, b: F, up: u64) -> F {
    let [product] = F::products([a], [b], [up]);
    product
}

/// Returns one of [`Residual::quotients`]. It takes numbers, because arrays would lie in memory where they
/// are rarely needed.
#[inline(never)]
pub fn quotient<F: Residual>(a: F, b: F, up: u64) -> F {
    let [quotient] = F::quotients([a], [b], [up]);
    quotient
}

/// Returns one of [`Residual::roots`]. It takes numbers, because arrays would lie in memory where they are
/// rarely needed.
#[inline(never)]
pub fn root<F: Residual>(a: F, up: u64) -> F {
    let [root] = F::roots([a], [up]);
    root
}

/// Defines a function that rounds the sum of two numbers. It takes the side of the residual from comparisons.
///
/// With the nearest sum, near - a is b minus the residual. If the residual is positive, the rounded near - a
/// is less than b or equal, because rounding keeps the order. The difference to the greater operand is exact,
/// and so not equal unless the residual is 0. All of this also holds for sums and differences that are too
/// large. No comparison with a NaN is true, so the sum of an infinite operand stays unchanged.
macro_rules! rounded_sum {
    ($name:ident: $float:ty, $bits:ty, $signed:ty) => {
        #[inline(always)]
        fn $name(a: $float, b: $float, up: $bits) -> $float {
            let near = a + b;
            let (part_of_b, part_of_a) = (near - a, near - b);
            let all_ones_if = |is| <$bits>::from(is).wrapping_neg();
            let is_above = all_ones_if((part_of_b < b) | (part_of_a < a));
            let is_below = all_ones_if((part_of_b > b) | (part_of_a > a));
            let bits = near.to_bits();
            // One bit more leads up if the number is positive.
            let step = ((bits as $signed >> (<$bits>::BITS - 1)) as $bits ^ !up) | 1;
            <$float>::from_bits(bits.wrapping_add(step & ((is_above & up) | (is_below & !up))))
        }
    };
}

rounded_sum!(rounded_sum: f64, u64, i64);
rounded_sum!(rounded_sum_of_singles: f32, u32, i32);
