//! Each result is one of the two directed roundings of the exact result, and both are reached.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::{Directions, FIRST_BIT, Float, Instructions};

/// A natural number, least significant word first: slow, exact, and independent of the code under test.
#[derive(Clone, PartialEq, Eq)]
struct Natural(Vec<u32>);

impl Natural {
    fn shifted(integer: u64, bits: usize) -> Self {
        let mut words = vec![0; bits / 32 + 4];
        let wide = u128::from(integer) << (bits % 32);
        for (place, word) in words[bits / 32..].iter_mut().enumerate() {
            *word = (wide >> (32 * place)) as u32;
        }
        Self(words).trimmed()
    }

    fn trimmed(mut self) -> Self {
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
        self
    }

    fn plus(&self, other: &Self) -> Self {
        let mut carry = 0;
        let word = |natural: &Self, place| natural.0.get(place).copied().unwrap_or(0);
        let words = (0..=self.0.len().max(other.0.len())).map(|place| {
            carry += u64::from(word(self, place)) + u64::from(word(other, place));
            let low = carry as u32;
            carry >>= 32;
            low
        });
        Self(words.collect()).trimmed()
    }

    fn times(&self, other: &Self) -> Self {
        let mut words = vec![0u32; self.0.len() + other.0.len() + 1];
        for (i, a) in self.0.iter().enumerate() {
            let mut carry = 0u64;
            for (j, b) in other.0.iter().chain([&0]).enumerate() {
                carry += u64::from(*a) * u64::from(*b) + u64::from(words[i + j]);
                words[i + j] = carry as u32;
                carry >>= 32;
            }
        }
        Self(words).trimmed()
    }

    fn order(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }
}

/// Returns the magnitude of a finite number in units of 2^-1074.
fn magnitude(value: f64) -> Natural {
    let bits = value.to_bits();
    let (biased, fraction) = ((bits >> 52 & 0x7ff) as usize, bits & ((1 << 52) - 1));
    assert!(biased < 0x7ff, "{value} is not finite");
    if biased == 0 { Natural::shifted(fraction, 0) } else { Natural::shifted(fraction | 1 << 52, biased - 1) }
}

/// Orders x + y and z + w, all finite.
fn compare_sums(x: f64, y: f64, z: f64, w: f64) -> Ordering {
    let (mut left, mut right) = (Natural(vec![]), Natural(vec![]));
    for (value, is_left) in [(x, true), (y, true), (z, false), (w, false)] {
        let side = if is_left != value.is_sign_negative() { &mut left } else { &mut right };
        *side = side.plus(&magnitude(value));
    }
    left.order(&right)
}

/// Orders x y and z w, all finite.
fn compare_products(x: f64, y: f64, z: f64, w: f64) -> Ordering {
    let (left, right) = (magnitude(x).times(&magnitude(y)), magnitude(z).times(&magnitude(w)));
    let is_negative = |a: f64, b: f64, product: &Natural| {
        !product.0.is_empty() && a.is_sign_negative() != b.is_sign_negative()
    };
    match (is_negative(x, y, &left), is_negative(z, w, &right)) {
        (false, false) => left.order(&right),
        (true, true) => right.order(&left),
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
    }
}

/// Returns directions; a bit for each sample decides, from the least significant one on.
fn directions<const N: usize>(up: u64, instructions: Instructions) -> Directions<N> {
    let [first, ..] = Directions::eight(up << FIRST_BIT, Some(instructions));
    first
}

/// Returns both possible results of an operation, the lower one first, and checks that all instructions of
/// the processor agree.
fn both<F: Float>(operation: impl Fn(Directions<2>) -> [F; 2]) -> [F; 2] {
    let bits = |values: [F; 2]| values.map(|value| value.to_f64().to_bits());
    let mut agreed: Option<[F; 2]> = None;
    for instructions in Instructions::detect() {
        let results = operation(directions(0b10, instructions));
        let same = *agreed.get_or_insert(results);
        let are_numbers = results.iter().all(|value| value.to_f64() == value.to_f64());
        assert!(!are_numbers || bits(results) == bits(same), "{instructions:?}: {results:?} {same:?}");
    }
    agreed.expect("each processor has portable instructions")
}

/// Returns both results of an operation of `Float`.
macro_rules! both {
    ($name:ident, $($operand:expr),+) => {
        both(|directions| Float::$name($([$operand; 2],)+ directions))
    };
}

/// Checks that two results are the directed roundings, the lower one first. `order` compares the exact result
/// with a finite number.
fn check(
    results: [f64; 2],
    next: impl Fn(f64) -> f64,
    order: impl Fn(f64) -> Ordering,
) -> Result<(), TestCaseError> {
    let [down, up] = results;
    let largest = -next(f64::NEG_INFINITY);
    let order = |value: f64| match value {
        f64::INFINITY => Ordering::Less,
        f64::NEG_INFINITY => Ordering::Greater,
        _ => order(value),
    };
    if order(down) == Ordering::Equal {
        prop_assert_eq!(down, up);
    } else {
        prop_assert_eq!(order(down), Ordering::Greater, "the exact result lies above {}", down);
        prop_assert_eq!(order(up), Ordering::Less, "the exact result lies below {}", up);
        prop_assert_eq!(next(down), up);
    }
    prop_assert!(down.abs() <= largest || up.abs() == largest || down == up);
    Ok(())
}

fn check_double(results: [f64; 2], order: impl Fn(f64) -> Ordering) -> Result<(), TestCaseError> {
    check(results, f64::next_up, order)
}

fn check_single(results: [f32; 2], order: impl Fn(f64) -> Ordering) -> Result<(), TestCaseError> {
    check(results.map(f64::from), |value| (value as f32).next_up().into(), order)
}

/// Returns finite numbers of all sizes, with many near the limits and many with short fractions.
fn doubles() -> impl Strategy<Value = f64> {
    let exponents = prop_oneof![0u64..3, 0u64..0x7ff, 1000u64..1046, 60u64..160, 2040u64..0x7ff];
    let fractions =
        prop_oneof![any::<u64>(), Just(0), Just(u64::MAX), any::<u64>().prop_map(|f| f << 44), 0u64..8];
    (any::<bool>(), exponents, fractions).prop_map(|(sign, exponent, fraction)| {
        f64::from_bits(u64::from(sign) << 63 | exponent << 52 | fraction & ((1 << 52) - 1))
    })
}

fn singles() -> impl Strategy<Value = f32> {
    let exponents = prop_oneof![0u32..3, 0u32..0xff, 120u32..135, 250u32..0xff];
    let fractions =
        prop_oneof![any::<u32>(), Just(0), Just(u32::MAX), any::<u32>().prop_map(|f| f << 18), 0u32..8];
    (any::<bool>(), exponents, fractions).prop_map(|(sign, exponent, fraction)| {
        f32::from_bits(u32::from(sign) << 31 | exponent << 23 | fraction & ((1 << 23) - 1))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn sums(a in doubles(), b in doubles()) {
        let results = both!(add, a, b);
        check_double(results, |value| compare_sums(a, b, value, 0.0))?;
    }

    #[test]
    fn sums_of_numbers_of_like_size(a in doubles(), scale in -60i32..60, b in 1.0..2.0) {
        let b: f64 = a * b * 2f64.powi(scale);
        prop_assume!(b.is_finite());
        for b in [b, -b] {
            let results = both!(add, a, b);
            check_double(results, |value| compare_sums(a, b, value, 0.0))?;
        }
    }

    #[test]
    fn sums_of_huge_numbers(a in 0u64..1 << 54, b in 0u64..1 << 54, is_near: bool, is_negative: bool) {
        // Parts of a sum may be too large although the sum is not.
        let a = f64::from_bits(f64::MAX.to_bits() - a);
        let b = f64::from_bits(f64::MAX.to_bits() - if is_near { b & 7 } else { b });
        let b = if is_negative { -b } else { b };
        for (a, b) in [(a, b), (b, a)] {
            check_double(both!(add, a, b), |value| compare_sums(a, b, value, 0.0))?;
            let [x, y] = [a, b].map(|one| (one.abs() * 2f64.powi(-896)).min(f32::MAX.into()).copysign(one) as f32);
            check_single(both!(add, x, y), |value| compare_sums(x.into(), y.into(), value, 0.0))?;
        }
    }

    #[test]
    fn products(a in doubles(), b in doubles()) {
        let results = both!(mul, a, b);
        check_double(results, |value| compare_products(a, b, value, 1.0))?;
    }

    #[test]
    fn products_of_borderline_size(a in doubles(), b in 1.0..2.0, exponent in 1i32..130) {
        for target in [-1075, -1022, -960, -900, 1023] {
            let b = b * 2f64.powi((target - exponent_of(a) + exponent - 65).clamp(-1022, 1023));
            let results = both!(mul, a, b);
            check_double(results, |value| compare_products(a, b, value, 1.0))?;
        }
    }

    #[test]
    fn quotients(a in doubles(), b in doubles()) {
        prop_assume!(b != 0.0);
        let results = both!(div, a, b);
        // The order of a / b and a value is that of a and their product if b is positive.
        let order = |value: f64| compare_products(a, 1.0, value, b);
        check_double(results, |value| if b < 0.0 { order(value).reverse() } else { order(value) })?;
    }

    #[test]
    fn roots(a in doubles()) {
        let a = a.abs();
        let results = both!(sqrt, a);
        check_double(results, |value| compare_products(a, 1.0, value, value))?;
    }

    #[test]
    fn singles_of_all_operations(a in singles(), b in singles()) {
        let (x, y) = (f64::from(a), f64::from(b));
        check_single(both!(add, a, b), |value| compare_sums(x, y, value, 0.0))?;
        // A product of two singles is exact in double precision.
        let order = |value: f64| (x * y).partial_cmp(&value).unwrap();
        check_single(both!(mul, a, b), order)?;
        let order = |value: f64| x.abs().partial_cmp(&(value * value)).unwrap();
        check_single(both!(sqrt, a.abs()), order)?;
        prop_assume!(b != 0.0);
        let order = |value: f64| x.partial_cmp(&(value * y)).unwrap();
        let order = |value: f64| if b < 0.0 { order(value).reverse() } else { order(value) };
        check_single(both!(div, a, b), order)?;
    }

    #[test]
    fn samples_do_not_influence_each_other(a in [doubles(), doubles(), doubles()], b in [doubles(), doubles(), doubles()], up: [bool; 3]) {
        let up = up.map(u64::from);
        let same = |together: [f64; 3], alone: &dyn Fn(usize) -> [f64; 1]| {
            (0..3).all(|k| together[k].to_bits() == alone(k)[0].to_bits() || together[k].is_nan())
        };
        for instructions in Instructions::detect() {
            let all = directions(up[0] | up[1] << 1 | up[2] << 2, instructions);
            let of = |k: usize| directions(up[k], instructions);
            prop_assert!(same(Float::add(a, b, all), &|k| Float::add([a[k]], [b[k]], of(k))));
            prop_assert!(same(Float::mul(a, b, all), &|k| Float::mul([a[k]], [b[k]], of(k))));
            prop_assert!(same(Float::div(a, b, all), &|k| Float::div([a[k]], [b[k]], of(k))));
            prop_assert!(same(Float::sqrt(a, all), &|k| Float::sqrt([a[k]], of(k))));
        }
    }

    #[test]
    fn single_samples_do_not_influence_each_other(a in [singles(), singles(), singles()], b in [singles(), singles(), singles()], up: [bool; 3]) {
        let up = up.map(u64::from);
        let same = |together: [f32; 3], alone: &dyn Fn(usize) -> [f32; 1]| {
            (0..3).all(|k| together[k].to_bits() == alone(k)[0].to_bits() || together[k].is_nan())
        };
        for instructions in Instructions::detect() {
            let all = directions(up[0] | up[1] << 1 | up[2] << 2, instructions);
            let of = |k: usize| directions(up[k], instructions);
            prop_assert!(same(Float::add(a, b, all), &|k| Float::add([a[k]], [b[k]], of(k))));
            prop_assert!(same(Float::mul(a, b, all), &|k| Float::mul([a[k]], [b[k]], of(k))));
            prop_assert!(same(Float::div(a, b, all), &|k| Float::div([a[k]], [b[k]], of(k))));
            prop_assert!(same(Float::sqrt(a, all), &|k| Float::sqrt([a[k]], of(k))));
        }
    }
}

fn exponent_of(value: f64) -> i32 {
    (value.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

/// Returns a result that no choice of directions changes, as a number.
fn fixed<F: Float>(results: [F; 2]) -> f64 {
    let [down, up] = results.map(F::to_f64);
    assert!(down.to_bits() == up.to_bits() || down.is_nan() && up.is_nan(), "{down} {up}");
    down
}

fn special_values_stay<F: Float>() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    for (a, b) in [
        (inf, 1.0),
        (1.0, inf),
        (inf, inf),
        (inf, -inf),
        (nan, 1.0),
        (1.0, nan),
        (0.0, -0.0),
        (-0.0, -0.0),
        (2.0, -2.0),
        (inf, 0.0),
        (0.0, inf),
        (-inf, 4.0),
        (0.0, 4.0),
        (-0.0, 4.0),
        (5.0, 0.0),
        (5.0, -0.0),
        (0.0, 0.0),
    ] {
        let (x, y) = (F::from_f64(a), F::from_f64(b));
        let results = [
            (fixed::<F>(both!(add, x, y)), a + b),
            (fixed::<F>(both!(mul, x, y)), a * b),
            (fixed::<F>(both!(div, x, y)), a / b),
        ];
        for (found, expected) in results {
            assert!(
                found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                "{a} {b}: {found} {expected}"
            );
        }
    }
    for a in [0.0, -0.0, 4.0, -4.0, inf, -inf, nan] {
        let (found, expected) = (fixed::<F>(both!(sqrt, F::from_f64(a))), a.sqrt());
        assert!(found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(), "{a}: {found}");
    }
}

#[test]
fn infinities_and_zeros_stay_as_they_are() {
    special_values_stay::<f64>();
    special_values_stay::<f32>();
}

#[test]
fn results_beyond_the_largest_and_below_the_smallest_number_have_two_roundings() {
    assert_eq!(both!(add, f64::MAX, f64::MAX), [f64::MAX, f64::INFINITY]);
    assert_eq!(both!(mul, f64::MAX, -2.0), [f64::NEG_INFINITY, f64::MIN]);
    assert_eq!(both!(div, f64::MAX, 0.5), [f64::MAX, f64::INFINITY]);
    // The exact sum is above the largest number, which is the nearest one.
    assert_eq!(both!(add, f64::MAX, 1.0), [f64::MAX, f64::INFINITY]);
    let tiny = f64::from_bits(1);
    assert_eq!(both!(mul, tiny, -tiny), [-tiny, -0.0]);
    assert_eq!(both!(div, tiny, f64::MAX), [0.0, tiny]);
    assert_eq!(both!(mul, f32::MAX, 2.0), [f32::MAX, f32::INFINITY]);
    assert_eq!(both!(mul, 1e-40f32, 1e-40), [0.0, f32::from_bits(1)]);
}
