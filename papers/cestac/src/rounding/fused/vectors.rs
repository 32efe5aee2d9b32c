//! N samples as vectors: two doubles and one, or up to four singles.

use std::arch::x86_64::*;

use super::instructions::{four_singles, one_double, two_doubles};
use super::{Directions, Fused, FusedMultiplyAdd};

impl Fused for f64 {
    #[inline(always)]
    fn sums<const N: usize>(
        a: [f64; N],
        b: [f64; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> [f64; N] {
        let (sums, _) = in_pairs(
            a,
            b,
            directions,
            |a, b, down| (two_doubles::sum(a, b, down, proof), 0),
            |a, b, down| (one_double::sum(a, b, down, proof), 0),
        );
        sums
    }

    #[inline(always)]
    fn products<const N: usize>(
        a: [f64; N],
        b: [f64; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> Option<[f64; N]> {
        right(in_pairs(
            a,
            b,
            directions,
            |a, b, down| two_doubles::product(a, b, down, proof),
            |a, b, down| one_double::product(a, b, down, proof),
        ))
    }

    #[inline(always)]
    fn quotients<const N: usize>(
        a: [f64; N],
        b: [f64; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> Option<[f64; N]> {
        right(in_pairs(
            a,
            b,
            directions,
            |a, b, down| two_doubles::quotient(a, b, down, proof),
            |a, b, down| one_double::quotient(a, b, down, proof),
        ))
    }

    #[inline(always)]
    fn roots<const N: usize>(
        a: [f64; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> Option<[f64; N]> {
        right(in_pairs(
            a,
            a,
            directions,
            |a, _, down| two_doubles::root(a, down, proof),
            |a, _, down| one_double::root(a, down, proof),
        ))
    }
}

impl Fused for f32 {
    #[inline(always)]
    fn sums<const N: usize>(
        a: [f32; N],
        b: [f32; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> [f32; N] {
        let (sums, _) = in_one(a, b, directions, |a, b, down| (four_singles::sum(a, b, down, proof), 0));
        sums
    }

    #[inline(always)]
    fn products<const N: usize>(
        a: [f32; N],
        b: [f32; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> Option<[f32; N]> {
        right(in_one(a, b, directions, |a, b, down| four_singles::product(a, b, down, proof)))
    }

    #[inline(always)]
    fn quotients<const N: usize>(
        a: [f32; N],
        b: [f32; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> Option<[f32; N]> {
        right(in_one(a, b, directions, |a, b, down| four_singles::quotient(a, b, down, proof)))
    }

    #[inline(always)]
    fn roots<const N: usize>(
        a: [f32; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> Option<[f32; N]> {
        right(in_one(a, a, directions, |a, _, down| four_singles::root(a, down, proof)))
    }
}

/// Returns the results, if none of them may be wrong.
#[inline(always)]
fn right<F, const N: usize>((results, wrong): ([F; N], i32)) -> Option<[F; N]> {
    (wrong == 0).then_some(results)
}

/// Computes doubles in pairs, and the last one alone if N is odd. Returns the results, and 0 if none may be wrong.
#[inline(always)]
fn in_pairs<const N: usize>(
    a: [f64; N],
    b: [f64; N],
    directions: Directions<N>,
    two: impl Fn(__m128d, __m128d, __m128d) -> (__m128d, i32),
    one: impl Fn(f64, f64, __m128d) -> (f64, i32),
) -> ([f64; N], i32) {
    let (mut results, mut wrong, mut k) = (a, 0, 0);
    let down = directions.down().map(f64::from_bits);
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        while k + 1 < N {
            let pair = |low, high| _mm_set_pd(high, low);
            let (result, is_wrong) =
                two(pair(a[k], a[k + 1]), pair(b[k], b[k + 1]), pair(down[k], down[k + 1]));
            results[k] = _mm_cvtsd_f64(result);
            results[k + 1] = _mm_cvtsd_f64(_mm_unpackhi_pd(result, result));
            wrong |= is_wrong;
            k += 2;
        }
        if k < N {
            let (result, is_wrong) = one(a[k], b[k], _mm_set_sd(down[k]));
            results[k] = result;
            wrong |= is_wrong & 1;
        }
    }
    (results, wrong)
}

/// Computes up to four singles in one vector. Returns the results, and 0 if none may be wrong.
#[inline(always)]
fn in_one<const N: usize>(
    a: [f32; N],
    b: [f32; N],
    directions: Directions<N>,
    operate: impl Fn(__m128, __m128, __m128) -> (__m128, i32),
) -> ([f32; N], i32) {
    const { assert!(N <= 4, "more samples than there are in a vector") };
    // The unused lanes repeat the last sample, so they are wrong only if it is.
    let sample = |values: [f32; N], k: usize| values[k.min(N - 1)];
    let mut results = a;
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        let vector =
            |values| _mm_set_ps(sample(values, 3), sample(values, 2), sample(values, 1), sample(values, 0));
        let down = directions.singles_down().map(f32::from_bits);
        let down = _mm_set_ps(down[3], down[2], down[1], down[0]);
        let (result, wrong) = operate(vector(a), vector(b), down);
        let samples = [
            result,
            _mm_shuffle_ps::<1>(result, result),
            _mm_movehl_ps(result, result),
            _mm_shuffle_ps::<3>(result, result),
        ];
        for (one, sample) in results.iter_mut().zip(samples) {
            *one = _mm_cvtss_f32(sample);
        }
        (results, wrong)
    }
}
