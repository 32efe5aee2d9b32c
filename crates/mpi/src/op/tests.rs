//! Every operation on every element against a plain reference, in which elements are small whole numbers.

use std::sync::Mutex;

use proptest::prelude::*;

use super::*;
use crate::Class;

/// Returns the formats of an element's parts: one number, real and imaginary part, or value and index.
fn formats(element: Element) -> Vec<Format> {
    use Format::{Extended as X, Float as F, Int as I, Natural as N};
    match element {
        Element::I8 | Element::I16 | Element::I32 | Element::I64 | Element::I128 => vec![I(element.size())],
        Element::U8 | Element::U16 | Element::U32 | Element::U64 | Element::Byte => vec![N(element.size())],
        Element::Logical1
        | Element::Logical2
        | Element::Logical4
        | Element::Logical8
        | Element::Logical16 => {
            vec![N(element.size())]
        }
        Element::F16 | Element::F32 | Element::F64 => vec![F(element.size())],
        Element::Bf16 => vec![Format::Bfloat],
        Element::Extended => vec![X],
        Element::ComplexF16 | Element::ComplexF32 | Element::ComplexF64 => vec![F(element.size() / 2); 2],
        Element::ComplexExtended => vec![X, X],
        Element::FloatInt => vec![F(4), I(4)],
        Element::DoubleInt => vec![F(8), I(4)],
        Element::LongInt => vec![I(8), I(4)],
        Element::IntInt => vec![I(4), I(4)],
        Element::ShortInt => vec![I(2), I(4)],
        Element::ExtendedInt => vec![X, I(4)],
        Element::FloatFloat => vec![F(4), F(4)],
        Element::DoubleDouble => vec![F(8), F(8)],
    }
}

#[derive(Clone, Copy)]
enum Format {
    Int(usize),
    Natural(usize),
    Float(usize),
    Bfloat,
    Extended,
}

fn encoded(format: Format, value: i64) -> Vec<u8> {
    match format {
        Format::Int(size) | Format::Natural(size) => i128::from(value).to_le_bytes()[..size].to_vec(),
        Format::Float(2) => {
            // Whole numbers below 2048 are exact: the leading bit is dropped, the rest is the mantissa.
            let (sign, n) = (u16::from(value < 0) << 15, value.unsigned_abs() as u16);
            let exponent = n.checked_ilog2().unwrap_or(0) as u16;
            let rest = if n == 0 { 0 } else { (exponent + 15) << 10 | (n << (10 - exponent)) & 0x3ff };
            (sign | rest).to_le_bytes().to_vec()
        }
        // The upper half of a number of 32 bits.
        Format::Bfloat => (value as f32).to_le_bytes()[2..].to_vec(),
        Format::Float(4) => (value as f32).to_le_bytes().to_vec(),
        Format::Float(_) => (value as f64).to_le_bytes().to_vec(),
        Format::Extended if cfg!(not(target_arch = "x86_64")) => {
            let n = u128::from(value.unsigned_abs());
            let exponent = if n == 0 { 0 } else { u128::from(16383 + n.ilog2()) };
            let fraction = if n == 0 { 0 } else { n << (112 - n.ilog2()) & ((1 << 112) - 1) };
            (u128::from(value < 0) << 127 | exponent << 112 | fraction).to_le_bytes().to_vec()
        }
        Format::Extended => {
            let n = value.unsigned_abs();
            let exponent = if n == 0 { 0 } else { 16383 + 63 - n.leading_zeros() as u16 };
            let mantissa = if n == 0 { 0 } else { n << n.leading_zeros() };
            let head = (u16::from(value < 0) << 15 | exponent).to_le_bytes();
            [&mantissa.to_le_bytes()[..], &head, &[0; 6]].concat()
        }
    }
}

fn packed(element: Element, values: &[Vec<i64>]) -> Vec<u8> {
    let formats = formats(element);
    values.iter().flat_map(|parts| formats.iter().zip(parts).flat_map(|(&f, &v)| encoded(f, v))).collect()
}

/// Turns negative zeros into positive ones, because the reference's whole numbers have one zero.
fn with_one_zero(element: Element, bytes: &[u8]) -> Vec<u8> {
    let (formats, mut bytes) = (formats(element), bytes.to_vec());
    for one in bytes.chunks_exact_mut(element.size()) {
        let mut rest = one;
        for &format in &formats {
            let (size, sign) = match format {
                Format::Int(size) | Format::Natural(size) => (size, None),
                Format::Float(size) => (size, Some(size - 1)),
                Format::Bfloat => (2, Some(1)),
                Format::Extended => (16, Some(if cfg!(target_arch = "x86_64") { 9 } else { 15 })),
            };
            let (part, others) = rest.split_at_mut(size);
            let zero = |(at, byte): (usize, &u8)| *byte == if Some(at) == sign { 0x80 } else { 0 };
            if part.iter().enumerate().all(zero) {
                part.fill(0);
            }
            rest = others;
        }
    }
    bytes
}

/// Returns true if the standard's table allows the operation on this kind of element.
fn is_defined(op: BuiltIn, element: Element) -> bool {
    let kind = element.name();
    let integer = matches!(kind, "integers" | "unsigned integers");
    match op {
        BuiltIn::Sum | BuiltIn::Prod => {
            integer || kind == "floating-point numbers" || kind == "complex numbers"
        }
        BuiltIn::Min | BuiltIn::Max => integer || kind == "floating-point numbers",
        BuiltIn::BitAnd | BuiltIn::BitOr | BuiltIn::BitXor => integer || kind == "bytes",
        BuiltIn::LogicalAnd | BuiltIn::LogicalOr | BuiltIn::LogicalXor => integer || kind == "logicals",
        BuiltIn::MinLoc | BuiltIn::MaxLoc => kind == "pairs",
        BuiltIn::Replace | BuiltIn::NoOp => false,
    }
}

fn expected(op: BuiltIn, element: Element, a: &[i64], b: &[i64]) -> Vec<i64> {
    let complex = element.name() == "complex numbers";
    match op {
        BuiltIn::Sum => a.iter().zip(b).map(|(a, b)| a + b).collect(),
        BuiltIn::Prod if complex => vec![a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]],
        BuiltIn::Prod => vec![a[0] * b[0]],
        BuiltIn::Min => vec![a[0].min(b[0])],
        BuiltIn::Max => vec![a[0].max(b[0])],
        BuiltIn::BitAnd => vec![a[0] & b[0]],
        BuiltIn::BitOr => vec![a[0] | b[0]],
        BuiltIn::BitXor => vec![a[0] ^ b[0]],
        BuiltIn::LogicalAnd => vec![i64::from(a[0] != 0 && b[0] != 0)],
        BuiltIn::LogicalOr => vec![i64::from(a[0] != 0 || b[0] != 0)],
        BuiltIn::LogicalXor => vec![i64::from((a[0] != 0) != (b[0] != 0))],
        BuiltIn::MinLoc => [a, b].into_iter().min().unwrap().to_vec(),
        BuiltIn::MaxLoc => [a, b].into_iter().max_by_key(|p| (p[0], -p[1])).unwrap().to_vec(),
        BuiltIn::Replace => b.to_vec(),
        BuiltIn::NoOp => a.to_vec(),
    }
}

/// Elements of small whole numbers, which all formats represent exactly, like their sums and products.
fn elements() -> impl Strategy<Value = (Element, Vec<Vec<i64>>, Vec<Vec<i64>>)> {
    (0..Element::ALL.len(), 0usize..20).prop_flat_map(|(element, count)| {
        let element = Element::ALL[element];
        let natural = matches!(formats(element)[0], Format::Natural(_));
        let number = if natural { 0i64..10 } else { -9i64..10 };
        let part = prop_oneof![Just(0i64), number];
        let parts = proptest::collection::vec(part, formats(element).len());
        let many = proptest::collection::vec(parts, count);
        (Just(element), many.clone(), many)
    })
}

/// Returns memory with the bytes after `odd` others, so that their address may be odd.
fn at(odd: usize, bytes: &[u8]) -> (Aligned, std::ops::Range<usize>) {
    let aligned = Aligned::of(&[&vec![0; odd], bytes].concat());
    (aligned, odd..odd + bytes.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn operations_are_those_of_the_reference((element, a, b) in elements(), odd in (0usize..2, 0usize..2)) {
        for op in BuiltIn::ALL {
            let Ok(combine) = op.accumulation(element) else { continue };
            let want: Vec<_> = a.iter().zip(&b).map(|(a, b)| expected(op, element, a, b)).collect();
            for from_first in [false, true] {
                let (first, second) = (packed(element, &a), packed(element, &b));
                let (into, from) = if from_first { (second, first) } else { (first, second) };
                let ((mut into, i), (mut from, f)) = (at(odd.0, &into), at(odd.1, &from));
                combine(&mut into.bytes()[i.clone()], &from.bytes()[f], from_first);
                let result = with_one_zero(element, &into.bytes()[i]);
                prop_assert_eq!(result, packed(element, &want), "{:?} of {:?}", op, element);
            }
        }
    }
}

#[test]
fn operations_are_defined_as_in_the_standard() {
    for element in Element::ALL {
        assert_eq!(packed(element, &[vec![1, 1]]).len(), element.size());
        for op in BuiltIn::ALL {
            match op.reduction(element) {
                Ok(_) => assert!(is_defined(op, element), "{op:?} of {element:?}"),
                Err(error) => assert!(!is_defined(op, element) && error.class == Class::Operation, "{error}"),
            }
        }
        assert!(
            BuiltIn::Replace.accumulation(element).is_ok() && BuiltIn::NoOp.accumulation(element).is_ok()
        );
    }
    assert!(Op::BuiltIn(BuiltIn::Sum).reduction(None, 12, 0).is_err());
}

fn combined<T: bytemuck::Pod>(op: BuiltIn, element: Element, a: T, b: T) -> T {
    let mut result = a;
    op.reduction(element).unwrap()(bytemuck::bytes_of_mut(&mut result), bytemuck::bytes_of(&b), false);
    result
}

#[test]
fn integers_wrap_around() {
    assert_eq!(combined(BuiltIn::Sum, Element::I8, 127i8, 1), -128);
    assert_eq!(combined(BuiltIn::Sum, Element::U64, u64::MAX, 2), 1);
    assert_eq!(combined(BuiltIn::Prod, Element::I32, i32::MIN, -1), i32::MIN);
    assert_eq!(combined(BuiltIn::Max, Element::U8, 200u8, 100), 200);
    assert_eq!(combined(BuiltIn::Max, Element::I8, 200u8 as i8, 100), 100);
    assert_eq!(combined(BuiltIn::Sum, Element::I128, i128::MAX, 1), i128::MIN);
    assert_eq!(combined(BuiltIn::LogicalAnd, Element::Logical4, -1i32, 2), 1);
}

#[test]
fn zeros_and_nan_do_not_depend_on_the_order() {
    fn check<T: bytemuck::Pod + PartialEq + std::fmt::Debug>(
        element: Element,
        [zero, minus, one, nan]: [T; 4],
    ) {
        for (a, b) in [(zero, minus), (minus, zero)] {
            assert_eq!(combined(BuiltIn::Min, element, a, b), minus);
            assert_eq!(combined(BuiltIn::Max, element, a, b), zero);
        }
        for op in [BuiltIn::Min, BuiltIn::Max] {
            assert_eq!([combined(op, element, nan, one), combined(op, element, one, nan)], [one; 2]);
            assert_eq!(combined(op, element, nan, nan), nan);
        }
    }
    check(Element::F64, [0.0, -0.0, 1.0, f64::NAN].map(f64::to_bits));
    check(Element::F32, [0.0, -0.0, 1.0, f32::NAN].map(f32::to_bits));
    check(Element::F16, [0u16, 0x8000, 0x3c00, 0x7e00]);
    check(Element::Bf16, [0u16, 0x8000, 0x3f80, 0x7fc0]);
    let long_doubles = match cfg!(target_arch = "x86_64") {
        true => [0, 0x8000u128 << 64, 0x3fff << 64 | 1 << 63, 0x7fff << 64 | 3 << 62],
        false => [0, 1 << 127, 0x3fff << 112, 0x7fff8 << 108],
    };
    check(Element::Extended, long_doubles);
}

#[test]
fn the_place_of_the_smallest_is_the_same_in_any_order() {
    let pair = |value: f32, index: i32| [value.to_bits(), index as u32];
    let both = |op, a, b| [combined(op, Element::FloatInt, a, b), combined(op, Element::FloatInt, b, a)];
    for op in [BuiltIn::MinLoc, BuiltIn::MaxLoc] {
        assert_eq!(both(op, pair(f32::NAN, 0), pair(3.0, 7)), [pair(3.0, 7); 2]);
        assert_eq!(both(op, pair(f32::NAN, 5), pair(f32::NAN, 2)), [pair(f32::NAN, 2); 2]);
        assert_eq!(both(op, pair(1.0, -3), pair(1.0, 4)), [pair(1.0, -3); 2]);
    }
    assert_eq!(both(BuiltIn::MinLoc, pair(0.0, 1), pair(-0.0, 2)), [pair(-0.0, 1); 2]);
    assert_eq!(both(BuiltIn::MaxLoc, pair(0.0, 2), pair(-0.0, 1)), [pair(0.0, 1); 2]);
}

#[test]
fn functions_of_the_program_get_the_operands_in_order() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let (log, function): (_, Arc<Function>) = (
        calls.clone(),
        Arc::new(move |first: &[u8], second: &mut [u8], n, t| {
            calls.lock().unwrap().push((n, t));
            second.iter_mut().zip(first).for_each(|(b, a)| *b += 2 * a);
        }),
    );
    for commutative in [false, true] {
        let op = Op::user(commutative, function.clone());
        assert_eq!(op.is_commutative(), commutative);
        let kernel = op.reduction(None, 2, 77).unwrap();
        let (mut into, from) = ([1, 2, 3, 4], [10, 20, 30, 40]);
        kernel.combine(&mut into, &from, true);
        assert_eq!(into, [21, 42, 63, 84]);
        let mut into = [1, 2, 3, 4];
        kernel.combine(&mut into, &from, false);
        assert_eq!(into, if commutative { [21, 42, 63, 84] } else { [12, 24, 36, 48] });
    }
    assert_eq!(*log.lock().unwrap(), [(2, 77); 4]);
}
