//! Operations whose results are rounded down and up by instructions with a direction (embedded rounding of
//! AVX-512).
//!
//! The rounding mode of the processor stays as it is: Rust and LLVM assume the default one. The instructions neither
//! read nor write the register that holds the mode and the exceptions.

/// Proof that the processor has such instructions.
#[derive(Clone, Copy, Debug)]
pub struct DirectedRounding(pub(super) ());

impl DirectedRounding {
    /// Returns the proof, if the processor and the system have AVX-512. Costs a load and a test.
    #[inline(always)]
    pub fn detect() -> Option<Self> {
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        if std::arch::is_x86_feature_detected!("avx512f") {
            return Some(Self(()));
        }
        None
    }
}

/// A number with operations rounded by such instructions: `f64` and `f32`. A mask is all ones to round up, 0
/// to round down.
pub trait Directed: Sized {
    /// Returns the sum.
    fn directed_sum(self, other: Self, up: u64, proof: DirectedRounding) -> Self;
    /// Returns the product.
    fn directed_product(self, other: Self, up: u64, proof: DirectedRounding) -> Self;
}

macro_rules! directed {
    ($type:ty: $bits:ty, $add:literal $mul:literal $minimum:literal) => {
        impl Directed for $type {
            #[inline(always)]
            fn directed_sum(self, other: Self, up: u64, _: DirectedRounding) -> Self {
                rounded!($add, $minimum, self, other, <$type>::from_bits(up as $bits))
            }

            #[inline(always)]
            fn directed_product(self, other: Self, up: u64, _: DirectedRounding) -> Self {
                rounded!($mul, $minimum, self, other, <$type>::from_bits(up as $bits))
            }
        }
    };
}

/// Returns the result of an instruction with two operands in one of both directions. To round up it replaces
/// the lower result by a NaN. The minimum is then the upper result, also for two zeros, which have the sign
/// of a sum rounded to nearest.
#[cfg(target_arch = "x86_64")]
macro_rules! rounded {
    ($instruction:literal, $minimum:literal, $a:expr, $b:expr, $mask:expr) => {{
        let result;
        // SAFETY: the proof says that the processor has the instructions, which use registers only.
        unsafe {
            std::arch::asm!(
                concat!($instruction, " {down}, {a}, {b}, {{rd-sae}}"),
                concat!($instruction, " {result}, {a}, {b}, {{ru-sae}}"),
                "vorps {down}, {down}, {up}",
                concat!($minimum, " {result}, {down}, {result}"),
                a = in(xmm_reg) $a, b = in(xmm_reg) $b, up = in(xmm_reg) $mask, down = out(xmm_reg) _, result = out(xmm_reg) result,
                options(pure, nomem, nostack)
            );
        }
        result
    }};
}

/// Other processors have no such proof.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! rounded {
    ($instruction:literal, $minimum:literal, $a:expr, $b:expr, $mask:expr) => {
        unreachable!("{} {} {}", $a, $b, $mask)
    };
}

directed!(f64: u64, "vaddsd" "vmulsd" "vminsd");
directed!(f32: u32, "vaddss" "vmulss" "vminss");

#[cfg(test)]
mod tests {
    use super::*;

    fn both<F: Copy>(operation: impl Fn(u64) -> F) -> [F; 2] {
        [0, u64::MAX].map(operation)
    }

    #[test]
    fn inexact_results_have_two_roundings_and_exact_ones_have_one() {
        let Some(proof) = DirectedRounding::detect() else { return };
        let sum = |a: f64, b: f64| both(|up| a.directed_sum(b, up, proof));
        assert_eq!(sum(1.0, 1e-30), [1.0, 1f64.next_up()]);
        assert_eq!(sum(-1.0, 1e-30), [-1.0, (-1f64).next_up()]);
        assert_eq!(sum(1.0, 2.0), [3.0; 2]);
        assert_eq!(both(|up| 1e200.directed_product(1e200, up, proof)), [f64::MAX, f64::INFINITY]);
        assert_eq!(both(|up| 1.5f32.directed_product(2.0, up, proof)), [3.0; 2]);
        let exact = 0.1f32 as f64 + 0.2f32 as f64;
        let sums = both(|up| 0.1f32.directed_sum(0.2, up, proof));
        assert_eq!(sums.map(|sum| f64::from(sum) > exact), [false, true]);
    }
}
