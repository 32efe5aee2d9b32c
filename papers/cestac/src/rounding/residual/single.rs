//! Rounding by residuals in single precision. Except for sums, residuals come from double precision, in which
//! no product of two singles is rounded, too large or too small. The difference of two doubles always has the
//! right sign.

use std::array::from_fn;

use super::{Residual, rounded_sum_of_singles};

impl Residual for f32 {
    #[inline(always)]
    fn sums<const N: usize>(a: [f32; N], b: [f32; N], up: [u64; N]) -> [f32; N] {
        from_fn(|k| rounded_sum_of_singles(a[k], b[k], up[k] as u32))
    }

    #[inline(always)]
    fn products<const N: usize>(a: [f32; N], b: [f32; N], up: [u64; N]) -> [f32; N] {
        from_fn(|k| {
            let (near, product) = (a[k] * b[k], f64::from(a[k]) * f64::from(b[k]));
            choose(near, product - f64::from(near), up[k])
        })
    }

    #[inline(always)]
    fn quotients<const N: usize>(a: [f32; N], b: [f32; N], up: [u64; N]) -> [f32; N] {
        from_fn(|k| {
            let near = a[k] / b[k];
            let difference = f64::from(a[k]) - f64::from(near) * f64::from(b[k]);
            choose(near, if b[k] < 0.0 { -difference } else { difference }, up[k])
        })
    }

    #[inline(always)]
    fn roots<const N: usize>(a: [f32; N], up: [u64; N]) -> [f32; N] {
        from_fn(|k| {
            let near = a[k].sqrt();
            choose(near, f64::from(a[k]) - f64::from(near) * f64::from(near), up[k])
        })
    }
}

/// Returns the nearest number, or its neighbour on the side of the residual if that lies in the chosen
/// direction. A NaN as residual comes from infinite operands or a divisor of 0: the result stays unchanged.
#[inline(always)]
fn choose(near: f32, residual: f64, up: u64) -> f32 {
    let bits = near.to_bits();
    let side = (residual.to_bits() >> 32) as u32;
    let step = ((bits ^ side) as i32 >> 31) as u32 | 1;
    let is_inexact = u32::from((residual > 0.0) | (residual < 0.0));
    let is_chosen = up as u32 ^ (side as i32 >> 31) as u32;
    f32::from_bits(bits.wrapping_add(step & is_chosen & is_inexact.wrapping_neg()))
}
