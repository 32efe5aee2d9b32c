//! The instructions of the four operations, for one vector.
//!
//! Each function takes operands and a vector of signs: negative to round down. It returns the results, and a
//! bit for each result that may be wrong. Bits beyond the operands have no meaning.

use std::arch::asm;
use std::arch::x86_64::*;

use super::FusedMultiplyAdd;

/// Defines the operations of a kind of vector: its type, the suffixes of its instructions for all floating-point
/// numbers, for their masks and for integers, the operands of its square root, the function that returns neighbours, and
/// constants: the sign bit, the integer 1, and the smallest number whose residual is not lost.
macro_rules! operations {
    (
        $module:ident: $operand:ty, $vector:ty, $suffix:literal $packed:literal $integer:literal
        root $root:literal neighbour $neighbour:ident constants $constants:expr
    ) => {
        pub mod $module {
            use super::*;

            /// Returns the sums. The operands change their sign to round down, so the side of the residual is
            /// always up.
            #[inline(always)]
            pub fn sum(a: $operand, b: $operand, down: $vector, proof: FusedMultiplyAdd) -> $operand {
                let (near, side, chosen);
                // SAFETY: the proof says that the processor has the instructions, which use registers only.
                unsafe {
                    asm!(
                        concat!("vadd", $suffix, " {near}, {a}, {b}"),
                        "vxorps {turned_a}, {a}, {down}",
                        "vxorps {turned_b}, {b}, {down}",
                        concat!("vadd", $suffix, " {down}, {turned_a}, {turned_b}"),
                        concat!("vsub", $suffix, " {rest_of_b}, {down}, {turned_a}"),
                        concat!("vsub", $suffix, " {rest_of_a}, {down}, {turned_b}"),
                        concat!("vcmplt", $suffix, " {rest_of_b}, {rest_of_b}, {turned_b}"),
                        concat!("vcmplt", $suffix, " {rest_of_a}, {rest_of_a}, {turned_a}"),
                        "vorps {rest_of_a}, {rest_of_a}, {rest_of_b}",
                        a = in(xmm_reg) a, b = in(xmm_reg) b, down = inout(xmm_reg) down => side, near = out(xmm_reg) near,
                        turned_a = out(xmm_reg) _, turned_b = out(xmm_reg) _, rest_of_b = out(xmm_reg) _,
                        rest_of_a = out(xmm_reg) chosen,
                        options(pure, nomem, nostack)
                    );
                }
                $neighbour(near, side, chosen, proof)
            }

            /// Returns the products. A residual is lost if the product is small.
            #[inline(always)]
            pub fn product(a: $operand, b: $operand, down: $vector, proof: FusedMultiplyAdd) -> ($operand, i32) {
                let (near, side, chosen, wrong);
                let [sign, _, smallest] = $constants;
                // SAFETY: as above.
                unsafe {
                    asm!(
                        "vxorps {chosen}, {a}, {down}",
                        concat!("vmul", $suffix, " {side}, {chosen}, {b}"),
                        concat!("vfmsub213", $suffix, " {chosen}, {b}, {side}"),
                        "vxorps {near}, {side}, {down}",
                        "vxorps {down}, {down}, {down}",
                        concat!("vcmplt", $suffix, " {chosen}, {down}, {chosen}"),
                        "vandnps {down}, {sign}, {side}",
                        concat!("vcmple", $suffix, " {down}, {down}, {smallest}"),
                        concat!("vmovmsk", $packed, " {wrong:e}, {down}"),
                        a = in(xmm_reg) a, b = in(xmm_reg) b, down = inout(xmm_reg) down => _,
                        near = out(xmm_reg) near, side = out(xmm_reg) side, chosen = out(xmm_reg) chosen,
                        sign = in(xmm_reg) sign, smallest = in(xmm_reg) smallest, wrong = lateout(reg) wrong,
                        options(pure, nomem, nostack)
                    );
                }
                ($neighbour(near, side, chosen, proof), wrong)
            }

            /// Returns the quotients. A residual is lost if the dividend is small, and is 0 if the dividend
            /// is 0.
            #[inline(always)]
            pub fn quotient(a: $operand, b: $operand, down: $vector, _: FusedMultiplyAdd) -> ($operand, i32) {
                let (near, wrong);
                let [sign, one, smallest] = $constants;
                // SAFETY: as above.
                unsafe {
                    asm!(
                        concat!("vdiv", $suffix, " {near}, {a}, {b}"),
                        "vandps {turned}, {b}, {sign}",
                        "vxorps {turned}, {turned}, {down}",
                        "vmovaps {residual}, {a}",
                        // It has the sign of the residual if b is positive.
                        concat!("vfnmadd231", $suffix, " {residual}, {near}, {b}"),
                        "vxorps {residual}, {residual}, {turned}",
                        "vxorps {turned}, {turned}, {turned}",
                        "vxorps {down}, {near}, {down}",
                        concat!("vcmplt", $suffix, " {down}, {down}, {turned}"),
                        "vorps {down}, {down}, {one}",
                        concat!("vcmplt", $suffix, " {residual}, {turned}, {residual}"),
                        "vandps {residual}, {residual}, {down}",
                        concat!("vpadd", $integer, " {near}, {near}, {residual}"),
                        // One bit less than 0 is a NaN.
                        "vandnps {turned}, {sign}, {a}",
                        concat!("vpsub", $integer, " {turned}, {turned}, {one}"),
                        concat!("vcmple", $suffix, " {turned}, {turned}, {smallest}"),
                        concat!("vmovmsk", $packed, " {wrong:e}, {turned}"),
                        a = in(xmm_reg) a, b = in(xmm_reg) b, down = inout(xmm_reg) down => _,
                        near = out(xmm_reg) near, residual = out(xmm_reg) _, turned = out(xmm_reg) _,
                        sign = in(xmm_reg) sign, one = in(xmm_reg) one, smallest = in(xmm_reg) smallest,
                        wrong = lateout(reg) wrong,
                        options(pure, nomem, nostack)
                    );
                }
                (near, wrong)
            }

            /// Returns the square roots. A residual is lost if the operand is small, and is 0 if the operand
            /// is 0.
            #[inline(always)]
            pub fn root(a: $operand, down: $vector, _: FusedMultiplyAdd) -> ($operand, i32) {
                let (near, wrong);
                let [sign, one, smallest] = $constants;
                // SAFETY: as above.
                unsafe {
                    asm!(
                        concat!("vsqrt", $suffix, " {near}, ", $root),
                        "vmovaps {residual}, {a}",
                        concat!("vfnmadd231", $suffix, " {residual}, {near}, {near}"),
                        "vxorps {zero}, {zero}, {zero}",
                        "vxorps {residual}, {residual}, {down}",
                        "vxorps {down}, {near}, {down}",
                        concat!("vcmplt", $suffix, " {down}, {down}, {zero}"),
                        "vorps {down}, {down}, {one}",
                        concat!("vcmplt", $suffix, " {residual}, {zero}, {residual}"),
                        "vandps {residual}, {residual}, {down}",
                        concat!("vpadd", $integer, " {near}, {near}, {residual}"),
                        "vandnps {zero}, {sign}, {a}",
                        concat!("vpsub", $integer, " {zero}, {zero}, {one}"),
                        concat!("vcmple", $suffix, " {zero}, {zero}, {smallest}"),
                        concat!("vmovmsk", $packed, " {wrong:e}, {zero}"),
                        a = in(xmm_reg) a, down = inout(xmm_reg) down => _,
                        near = out(xmm_reg) near, residual = out(xmm_reg) _, zero = out(xmm_reg) _,
                        sign = in(xmm_reg) sign, one = in(xmm_reg) one, smallest = in(xmm_reg) smallest,
                        wrong = lateout(reg) wrong,
                        options(pure, nomem, nostack)
                    );
                }
                (near, wrong)
            }
        }
    };
}

operations!(two_doubles: __m128d, __m128d, "pd" "pd" "q" root "{a}" neighbour next_double constants double());
operations!(one_double: f64, __m128d, "sd" "pd" "q" root "{a}, {a}" neighbour next_lowest constants double());
operations!(four_singles: __m128, __m128, "ps" "ps" "d" root "{a}" neighbour next_single constants single());

/// Returns the constants of doubles. Residuals are at most 106 bits shorter than their results.
#[inline(always)]
fn double() -> [__m128d; 3] {
    // SAFETY: SSE2 is part of x86-64.
    unsafe {
        let smallest = f64::from_bits((1023 - 900) << 52);
        [_mm_set1_pd(-0.0), _mm_set1_pd(f64::from_bits(1)), _mm_set1_pd(smallest)]
    }
}

/// Returns the constants of singles. Residuals are at most 48 bits shorter than their results.
#[inline(always)]
fn single() -> [__m128; 3] {
    // SAFETY: SSE is part of x86-64.
    unsafe {
        let smallest = f32::from_bits((127 - 90) << 23);
        [_mm_set1_ps(-0.0), _mm_set1_ps(f32::from_bits(1)), _mm_set1_ps(smallest)]
    }
}

/// Defines the function of doubles that returns the neighbours of numbers: where `chosen` is all ones, one bit less if
/// `side` is negative, else one bit more.
macro_rules! next_double {
    ($name:ident: $operand:ty) => {
        #[inline(always)]
        fn $name(near: $operand, side: __m128d, chosen: __m128d, _: FusedMultiplyAdd) -> $operand {
            let next;
            let [_, one, _] = double();
            // SAFETY: as above.
            unsafe {
                asm!(
                    "vcmpltpd {next}, {side}, {zero}",
                    "vorps {next}, {next}, {one}",
                    "vandps {next}, {next}, {chosen}",
                    "vpaddq {next}, {next}, {near}",
                    near = in(xmm_reg) near, side = in(xmm_reg) side, chosen = in(xmm_reg) chosen, one = in(xmm_reg) one,
                    zero = in(xmm_reg) _mm_setzero_pd(), next = out(xmm_reg) next,
                    options(pure, nomem, nostack)
                );
            }
            next
        }
    };
}

next_double!(next_double: __m128d);
next_double!(next_lowest: f64);

/// Returns the neighbours of singles.
#[inline(always)]
fn next_single(near: __m128, mut side: __m128, chosen: __m128, _: FusedMultiplyAdd) -> __m128 {
    // SAFETY: as above.
    unsafe {
        asm!(
            // All ones are -1, which changes its sign if the side is negative.
            "vpsignd {chosen}, {chosen}, {side}",
            "vpsubd {side}, {near}, {chosen}",
            near = in(xmm_reg) near, side = inout(xmm_reg) side, chosen = inout(xmm_reg) chosen => _,
            options(pure, nomem, nostack)
        );
    }
    side
}
