use proptest::prelude::*;

use super::*;

/// Converts a 64-bit number, which binary128 represents exactly.
fn of(x: f64) -> Quad {
    let (bits, sign) = (x.to_bits() & !(1 << 63), u128::from(x.is_sign_negative()) << 127);
    let fraction = u128::from(bits & ((1 << 52) - 1));
    let magnitude = match bits >> 52 {
        0 if fraction == 0 => 0,
        0 => {
            let shift = fraction.leading_zeros() - (1u128 << 52).leading_zeros();
            (u128::from(15361 - shift) << 112) + ((fraction << shift << 60) & (LEADING - 1))
        }
        0x7ff => INFINITY | fraction << 60,
        exponent => u128::from(exponent + 15360) << 112 | fraction << 60,
    };
    (sign | magnitude).to_ne_bytes()
}

fn bits(x: u128) -> Quad {
    x.to_ne_bytes()
}

#[test]
fn all_113_bits_of_the_significand_count() {
    let power = |exponent: i32| bits(((BIAS + exponent) as u128) << FRACTION);
    let one = of(1.0);
    let next = |n: u128| bits(u128::from_ne_bytes(one) + n);
    assert_eq!(add(one, power(-112)), next(1));
    assert_eq!(add(one, power(-113)), one, "ties go to even");
    assert_eq!(add(next(1), power(-113)), next(2), "ties go to even");
    assert_eq!(add(add(one, power(-113)), power(-200)), one);
    assert_eq!(add(one, bits(u128::from_ne_bytes(power(-113)) + 1)), next(1), "what is cut counts");
    assert_eq!(subtract(next(1), one), power(-112));
    let long = bits((BIAS as u128) << FRACTION | (LEADING - 1));
    assert_eq!(multiply(long, long), bits(((BIAS + 1) as u128) << FRACTION | (LEADING - 2)));
}

#[test]
fn the_ends_of_the_range_are_reached() {
    let (huge, tiny, least_normal) = (bits(INFINITY - 1), bits(1), bits(LEADING));
    assert_eq!(add(huge, huge), of(f64::INFINITY));
    assert_eq!(multiply(huge, of(-2.0)), of(f64::NEG_INFINITY));
    assert_eq!(subtract(tiny, tiny), of(0.0));
    assert_eq!(subtract(of(-0.0), of(0.0)), of(-0.0));
    assert_eq!(multiply(tiny, of(0.5)), of(0.0), "a tie");
    assert_eq!(multiply(bits(3), of(0.5)), bits(2), "a tie");
    assert_eq!(multiply(tiny, of(0.75)), tiny);
    assert_eq!(multiply(least_normal, of(0.5)), bits(LEADING >> 1));
    assert_eq!(subtract(least_normal, tiny), bits(LEADING - 1));
    assert_eq!(add(bits(LEADING - 1), tiny), least_normal);
    assert!(is_nan(multiply(of(0.0), of(f64::INFINITY))));
    assert!(is_nan(subtract(of(f64::INFINITY), of(f64::INFINITY))));
    assert_eq!(compare(huge, of(f64::INFINITY)), Some(Ordering::Less));
    assert_eq!(compare(tiny, of(0.0)), Some(Ordering::Greater));
    assert_eq!(compare(of(-0.0), of(0.0)), Some(Ordering::Equal));
    assert_eq!(compare(of(f64::NAN), of(1.0)), None);
}

/// Returns numbers whose exponents are often near each other or at an end.
fn any_bits() -> impl Strategy<Value = u128> {
    let exponent = prop_oneof![0u128..4, 0x3f00u128..0x40ff, 0x7ffcu128..0x8000, 0u128..0x8000];
    let fraction = prop_oneof![any::<u128>(), Just(0), Just(u128::MAX), (0u32..112).prop_map(|at| 1 << at)];
    (any::<bool>(), exponent, fraction).prop_map(|(sign, exponent, fraction)| {
        u128::from(sign) << 127 | exponent << FRACTION | fraction & (LEADING - 1)
    })
}

/// The functions of the compiler's library for C's `long double`.
#[cfg(all(target_arch = "aarch64", not(miri)))]
mod of_the_compiler {
    use std::arch::aarch64::uint8x16_t;
    use std::arch::asm;

    unsafe extern "C" {
        fn __addtf3();
        fn __subtf3();
        fn __multf3();
    }

    macro_rules! functions {
        ($($name:ident $function:ident)*) => {$(
            pub fn $name(a: u128, b: u128) -> u128 {
                // SAFETY: both types have 16 bytes of any value; the function takes its operands and leaves
                // its result in these registers.
                unsafe {
                    let (a, b): (uint8x16_t, uint8x16_t) = (std::mem::transmute(a), std::mem::transmute(b));
                    let result: uint8x16_t;
                    asm!("bl {f}", f = sym $function, inout("v0") a => result, in("v1") b, clobber_abi("C"));
                    std::mem::transmute(result)
                }
            }
        )*};
    }
    functions! { add __addtf3 subtract __subtf3 multiply __multf3 }
}

proptest! {
    #[cfg(all(target_arch = "aarch64", not(miri)))]
    #[test]
    fn results_are_those_of_the_compiler(a in any_bits(), b in any_bits()) {
        type Ours = fn(Quad, Quad) -> Quad;
        type Theirs = fn(u128, u128) -> u128;
        let functions: [(Ours, Theirs); 3] =
            [(add, of_the_compiler::add), (subtract, of_the_compiler::subtract), (multiply, of_the_compiler::multiply)];
        for (ours, theirs) in functions {
            let (found, wanted) = (u128::from_ne_bytes(ours(bits(a), bits(b))), theirs(a, b));
            prop_assert!(found == wanted || is_nan_bits(found) && is_nan_bits(wanted), "{found:x} {wanted:x}");
        }
    }

    #[test]
    fn sums_and_products_do_not_depend_on_the_order(a in any_bits(), b in any_bits()) {
        for operation in [add, multiply] {
            let (one, other) = (operation(bits(a), bits(b)), operation(bits(b), bits(a)));
            prop_assert!(one == other || is_nan(one) && is_nan(other));
        }
    }

    #[test]
    fn exact_results_are_those_of_64_bit_numbers(a in -1i32 << 24..1 << 24, b in -1i32 << 24..1 << 24) {
        let (a, b) = (f64::from(a), f64::from(b));
        prop_assert_eq!(add(of(a), of(b)), of(a + b));
        prop_assert_eq!(subtract(of(a), of(b)), of(a - b));
        prop_assert_eq!(multiply(of(a), of(b)), of(a * b));
    }

    #[test]
    fn numbers_compare_as_64_bit_numbers_do(a: f64, b: f64) {
        prop_assert_eq!(compare(of(a), of(b)), a.partial_cmp(&b));
        prop_assert_eq!(is_negative(of(a)), a.is_sign_negative());
        prop_assert_eq!(is_nan(of(a)), a.is_nan());
    }
}
