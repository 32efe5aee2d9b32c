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
    ) -> Option<[f64; N]> {
        in_pairs(
            a,
            b,
            directions,
            |a, b, down| two_doubles::sum(a, b, down, proof),
            |a, b, down| one_double::sum(a, b, down, proof),
        )
    }

    #[inline(always)]
    fn products<const N: usize>(
        a: [f64; N],
        b: [f64; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> Option<[f64; N]> {
        in_pairs(
            a,
            b,
            directions,
            |a, b, down| two_doubles::product(a, b, down, proof),
            |a, b, down| one_double::product(a, b, down, proof),
        )
    }

    #[inline(always)]
    fn quotients<const N: usize>(
        a: [f64; N],
        b: [f64; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> Option<[f64; N]> {
        in_pairs(
            a,
            b,
            directions,
            |a, b, down| two_doubles::quotient(a, b, down, proof),
            |a, b, down| one_double::quotient(a, b, down, proof),
        )
    }

    #[inline(always)]
    fn roots<const N: usize>(
        a: [f64; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> Option<[f64; N]> {
        in_pairs(
            a,
            a,
            directions,
            |a, _, down| two_doubles::root(a, down, proof),
            |a, _, down| one_double::root(a, down, proof),
        )
    }
}

impl Fused for f32 {
    #[inline(always)]
    fn sums<const N: usize>(
        a: [f32; N],
        b: [f32; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> Option<[f32; N]> {
        in_one(a, b, directions, |a, b, down| four_singles::sum(a, b, down, proof))
    }

    #[inline(always)]
    fn products<const N: usize>(
        a: [f32; N],
        b: [f32; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> Option<[f32; N]> {
        in_one(a, b, directions, |a, b, down| four_singles::product(a, b, down, proof))
    }

    #[inline(always)]
    fn quotients<const N: usize>(
        a: [f32; N],
        b: [f32; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> Option<[f32; N]> {
        in_one(a, b, directions, |a, b, down| four_singles::quotient(a, b, down, proof))
    }

    #[inline(always)]
    fn roots<const N: usize>(
        a: [f32; N],
        directions: Directions<N>,
        proof: FusedMultiplyAdd,
    ) -> Option<[f32; N]> {
        in_one(a, a, directions, |a, _, down| four_singles::root(a, down, proof))
    }
}

/// Computes doubles in pairs, and the last one alone if N is odd.
#[inline(always)]
fn in_pairs<const N: usize>(
    a: [f64; N],
    b: [f64; N],
    Directions { words, above, .. }: Directions<N>,
    two: impl Fn(__m128d, __m128d, __m128d) -> (__m128d, i32),
    one: impl Fn(f64, f64, __m128d) -> (f64, i32),
) -> Option<[f64; N]> {
    let (mut results, mut wrong, mut k) = (a, 0, 0);
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        let above = _mm_cvtsi32_si128(above as i32);
        let down = |words| {
            let up = _mm_castsi128_pd(_mm_sll_epi64(words, above));
            _mm_andnot_pd(up, _mm_set1_pd(-0.0))
        };
        while k + 1 < N {
            let pair = |values: [f64; N]| _mm_set_pd(values[k + 1], values[k]);
            let down = down(_mm_set_epi64x(words[k + 1] as i64, words[k] as i64));
            let (result, is_wrong) = two(pair(a), pair(b), down);
            results[k] = _mm_cvtsd_f64(result);
            results[k + 1] = _mm_cvtsd_f64(_mm_unpackhi_pd(result, result));
            wrong |= is_wrong;
            k += 2;
        }
        if k < N {
            let (result, is_wrong) = one(a[k], b[k], down(_mm_cvtsi64_si128(words[k] as i64)));
            results[k] = result;
            wrong |= is_wrong & 1;
        }
    }
    (wrong == 0).then_some(results)
}

/// Computes up to four singles in one vector.
#[inline(always)]
fn in_one<const N: usize>(
    a: [f32; N],
    b: [f32; N],
    Directions { words, above, .. }: Directions<N>,
    operate: impl Fn(__m128, __m128, __m128) -> (__m128, i32),
) -> Option<[f32; N]> {
    const { assert!(N <= 4, "more samples than there are in a vector") };
    let sample = |values: [f32; N], k: usize| if k < N { values[k] } else { 1.0 };
    let word = |k: usize| if k < N { words[k] as i64 } else { 0 };
    let mut results = a;
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        let vector =
            |values| _mm_set_ps(sample(values, 3), sample(values, 2), sample(values, 1), sample(values, 0));
        let above = _mm_cvtsi32_si128(above as i32);
        let pair = |k| _mm_castsi128_ps(_mm_sll_epi64(_mm_set_epi64x(word(k + 1), word(k)), above));
        // The upper halves of the words.
        let up = _mm_shuffle_ps::<0b11_01_11_01>(pair(0), pair(2));
        let (result, wrong) = operate(vector(a), vector(b), _mm_andnot_ps(up, _mm_set1_ps(-0.0)));
        let samples = [
            result,
            _mm_shuffle_ps::<1>(result, result),
            _mm_movehl_ps(result, result),
            _mm_shuffle_ps::<3>(result, result),
        ];
        for (one, sample) in results.iter_mut().zip(samples) {
            *one = _mm_cvtss_f32(sample);
        }
        (wrong == 0).then_some(results)
    }
}
