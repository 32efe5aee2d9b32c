//! Rounding up and down by the error of the nearest number, with vectors and fused multiply-adds (x86-64 with FMA).
//!
//! Only the signs of residuals matter. A fused multiply-add gives the residual of a product, even of one that
//! is too large. If a residual may be lost, the results are computed again ([`residual`](super::residual)).
//! The side of a sum's residual comes from the comparisons described there.

#[cfg(not(target_arch = "x86_64"))]
mod elsewhere;
#[cfg(target_arch = "x86_64")]
mod instructions;
#[cfg(target_arch = "x86_64")]
mod vectors;

use super::directions::Directions;

/// Proof that the processor has fused multiply-adds.
#[derive(Clone, Copy, Debug)]
pub struct FusedMultiplyAdd(pub(super) ());

impl FusedMultiplyAdd {
    /// Returns the proof, if the processor and the system have FMA, and so AVX.
    pub fn detect() -> Option<Self> {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if std::arch::is_x86_feature_detected!("avx") && std::arch::is_x86_feature_detected!("fma") {
            return Some(Self(()));
        }
        None
    }
}

/// A number with operations rounded by fused multiply-adds: `f64` and `f32`.
pub trait Fused: Sized {
    /// Returns the sums of `a` and `b`.
    fn sums<const N: usize>(
        a: [Self; N],
        b: [Self; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> [Self; N];
    /// Returns the products of `a` and `b`; none if one may be wrong.
    fn products<const N: usize>(
        a: [Self; N],
        b: [Self; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> Option<[Self; N]>;
    /// Returns the quotients of `a` by `b`; none if one may be wrong.
    fn quotients<const N: usize>(
        a: [Self; N],
        b: [Self; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> Option<[Self; N]>;
    /// Returns the square roots of `a`; none if one may be wrong.
    fn roots<const N: usize>(
        a: [Self; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> Option<[Self; N]>;
}
