//! Operations on floating-point numbers whose results are rounded down and up, by instructions that name their direction
//! (embedded rounding of AVX-512).
//!
//! The rounding mode of the processor stays as it is: Rust and LLVM assume the default one. The instructions neither
//! read nor write the register that holds the mode and the exceptions.

/// Proof that the processor has such instructions.
#[derive(Clone, Copy, Debug)]
pub struct DirectedRounding(());

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

/// A number with operations that round down and up: `f64` and `f32`.
pub trait RoundedBothWays: Sized {
    /// The sum, rounded down and up.
    fn sum(self, other: Self, proof: DirectedRounding) -> [Self; 2];
    /// The product, rounded down and up.
    fn product(self, other: Self, proof: DirectedRounding) -> [Self; 2];
    /// The quotient, rounded down and up.
    fn quotient(self, other: Self, proof: DirectedRounding) -> [Self; 2];
    /// The square root, rounded down and up.
    fn root(self, proof: DirectedRounding) -> [Self; 2];
}

macro_rules! rounded_both_ways {
    ($type:ty: $add:literal $mul:literal $div:literal $sqrt:literal) => {
        impl RoundedBothWays for $type {
            #[inline(always)]
            fn sum(self, other: Self, _: DirectedRounding) -> [Self; 2] {
                both!($add, self, other)
            }

            #[inline(always)]
            fn product(self, other: Self, _: DirectedRounding) -> [Self; 2] {
                both!($mul, self, other)
            }

            #[inline(always)]
            fn quotient(self, other: Self, _: DirectedRounding) -> [Self; 2] {
                both!($div, self, other)
            }

            #[inline(always)]
            fn root(self, _: DirectedRounding) -> [Self; 2] {
                both!($sqrt, self, self)
            }
        }
    };
}

/// The results of one instruction of two operands in both directions.
#[cfg(target_arch = "x86_64")]
macro_rules! both {
    ($instruction:literal, $a:expr, $b:expr) => {{
        let (down, up);
        // SAFETY: the proof says that the processor has the instructions; they read two registers and write one each.
        unsafe {
            std::arch::asm!(
                concat!($instruction, " {down}, {a}, {b}, {{rd-sae}}"),
                concat!($instruction, " {up}, {a}, {b}, {{ru-sae}}"),
                down = out(xmm_reg) down, up = lateout(xmm_reg) up, a = in(xmm_reg) $a, b = in(xmm_reg) $b,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        [down, up]
    }};
}

/// There is no proof on other processors.
#[cfg(not(target_arch = "x86_64"))]
macro_rules! both {
    ($instruction:literal, $a:expr, $b:expr) => {
        unreachable!("{} {} {}", $instruction, $a, $b)
    };
}

rounded_both_ways!(f64: "vaddsd" "vmulsd" "vdivsd" "vsqrtsd");
rounded_both_ways!(f32: "vaddss" "vmulss" "vdivss" "vsqrtss");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inexact_results_have_two_roundings_and_exact_ones_have_one() {
        let Some(proof) = DirectedRounding::detect() else { return };
        let third = 1.0f64 / 3.0;
        assert_eq!(1.0.quotient(3.0, proof), [third, third.next_up()]);
        assert_eq!(1.0.sum(1e-30, proof), [1.0, 1f64.next_up()]);
        assert_eq!((-1.0).sum(1e-30, proof), [-1.0, (-1f64).next_up()]);
        assert_eq!(1e200.product(1e200, proof), [f64::MAX, f64::INFINITY]);
        assert_eq!(2.0.root(proof), [2f64.sqrt().next_down(), 2f64.sqrt()]);
        assert_eq!(1.5f32.product(2.0, proof), [3.0; 2]);
        assert_eq!(
            0.1f32.sum(0.2, proof).map(f64::from).map(|sum| sum > 0.1f32 as f64 + 0.2f32 as f64),
            [false, true]
        );
    }
}
