//! Single precision. All residuals come from double precision, in which no product of two singles is rounded, too
//! large or too small. The difference of two doubles always has the right sign.

use std::array::from_fn;

use super::Float;

impl Float for f32 {
    const DIGITS: u32 = 7;
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn add<const N: usize>(a: [f32; N], b: [f32; N], chosen: [u64; N]) -> [f32; N] {
        from_fn(|k| {
            let near = a[k] + b[k];
            let (large, small) = if a[k].abs() < b[k].abs() { (b[k], a[k]) } else { (a[k], b[k]) };
            // The inner difference is exact (`FastTwoSum`); it is infinite if the sum is too large.
            choose(near, f64::from(small) - (f64::from(near) - f64::from(large)), chosen[k])
        })
    }

    #[inline(always)]
    fn mul<const N: usize>(a: [f32; N], b: [f32; N], chosen: [u64; N]) -> [f32; N] {
        from_fn(|k| {
            let (near, product) = (a[k] * b[k], f64::from(a[k]) * f64::from(b[k]));
            choose(near, product - f64::from(near), chosen[k])
        })
    }

    #[inline(always)]
    fn div<const N: usize>(a: [f32; N], b: [f32; N], chosen: [u64; N]) -> [f32; N] {
        from_fn(|k| {
            let near = a[k] / b[k];
            let difference = f64::from(a[k]) - f64::from(near) * f64::from(b[k]);
            choose(near, if b[k] < 0.0 { -difference } else { difference }, chosen[k])
        })
    }

    #[inline(always)]
    fn sqrt<const N: usize>(a: [f32; N], chosen: [u64; N]) -> [f32; N] {
        from_fn(|k| {
            let near = a[k].sqrt();
            choose(near, f64::from(a[k]) - f64::from(near) * f64::from(near), chosen[k])
        })
    }

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

/// The nearest number, or its neighbour on the side of the residual if that is chosen. A residual that is no number
/// comes from infinite operands, or a divisor of 0: the result stays as it is.
#[inline(always)]
fn choose(near: f32, residual: f64, chosen: u64) -> f32 {
    let bits = near.to_bits();
    let side = (residual.to_bits() >> 32) as u32;
    let step = ((bits ^ side) as i32 >> 31) as u32 | 1;
    let is_inexact = u32::from((residual > 0.0) | (residual < 0.0));
    f32::from_bits(bits.wrapping_add(step & chosen as u32 & is_inexact.wrapping_neg()))
}
