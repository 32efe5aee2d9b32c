//! The loops for all operations and element types (MPI 5.0, §6.9.2).

use std::cmp::Ordering;

use super::fold::{each, each_pair};
use super::numbers::{Arithmetic, Bfloat, Float, Half, IntegerNumber, LongDouble};
use super::{Element, Kernel, Op};

/// Returns the loop, if the operation is defined for these elements.
pub(super) fn kernel(op: Op, element: Element) -> Option<Kernel> {
    match element {
        Element::I8 => integer::<i8>(op),
        Element::I16 => integer::<i16>(op),
        Element::I32 => integer::<i32>(op),
        Element::I64 => integer::<i64>(op),
        Element::I128 => integer::<i128>(op),
        Element::U8 => integer::<u8>(op),
        Element::U16 => integer::<u16>(op),
        Element::U32 => integer::<u32>(op),
        Element::U64 => integer::<u64>(op),
        Element::F16 => number::<Half>(op),
        Element::Bf16 => number::<Bfloat>(op),
        Element::F32 => number::<f32>(op),
        Element::F64 => number::<f64>(op),
        Element::ComplexF16 => complex::<Half>(op),
        Element::ComplexF32 => complex::<f32>(op),
        Element::ComplexF64 => complex::<f64>(op),
        Element::Logical1 => logical::<u8>(op),
        Element::Logical2 => logical::<u16>(op),
        Element::Logical4 => logical::<u32>(op),
        Element::Logical8 => logical::<u64>(op),
        Element::Logical16 => logical::<i128>(op),
        Element::Byte => bits::<u8>(op),
        Element::FloatInt => pair::<f32, i32>(op),
        Element::DoubleInt => pair::<f64, i32>(op),
        Element::LongInt => pair::<i64, i32>(op),
        Element::IntInt => pair::<i32, i32>(op),
        Element::ShortInt => pair::<i16, i32>(op),
        Element::FloatFloat => pair::<f32, f32>(op),
        Element::DoubleDouble => pair::<f64, f64>(op),
        Element::Extended => number::<LongDouble>(op),
        Element::ComplexExtended => complex::<LongDouble>(op),
        Element::ExtendedInt => pair::<LongDouble, i32>(op),
    }
}

fn integer<N: Arithmetic + IntegerNumber>(op: Op) -> Option<Kernel> {
    number::<N>(op).or_else(|| bits::<N>(op)).or_else(|| logical::<N>(op))
}

fn number<N: Arithmetic>(op: Op) -> Option<Kernel> {
    Some(match op {
        Op::Sum => |into, from, first| each(into, from, first, N::sum),
        Op::Prod => |into, from, first| each(into, from, first, N::product),
        Op::Min => |into, from, first| each(into, from, first, N::smaller),
        Op::Max => |into, from, first| each(into, from, first, N::larger),
        _ => return None,
    })
}

fn bits<N: IntegerNumber>(op: Op) -> Option<Kernel> {
    Some(match op {
        Op::BitAnd => |into, from, first| each(into, from, first, N::and),
        Op::BitOr => |into, from, first| each(into, from, first, N::or),
        Op::BitXor => |into, from, first| each(into, from, first, N::xor),
        _ => return None,
    })
}

fn logical<N: IntegerNumber>(op: Op) -> Option<Kernel> {
    Some(match op {
        Op::LogicalAnd => {
            |into, from, first| each(into, from, first, |a: N, b| N::truth(N::is_true(a) & N::is_true(b)))
        }
        Op::LogicalOr => {
            |into, from, first| each(into, from, first, |a: N, b| N::truth(N::is_true(a) | N::is_true(b)))
        }
        Op::LogicalXor => {
            |into, from, first| each(into, from, first, |a: N, b| N::truth(N::is_true(a) ^ N::is_true(b)))
        }
        _ => return None,
    })
}

fn complex<F: Float>(op: Op) -> Option<Kernel> {
    Some(match op {
        Op::Sum => |into, from, first| {
            each::<[F::Stored; 2]>(into, from, first, |a, b| [F::sum(a[0], b[0]), F::sum(a[1], b[1])]);
        },
        Op::Prod => |into, from, first| {
            each::<[F::Stored; 2]>(into, from, first, |a, b| {
                let real = F::difference(F::product(a[0], b[0]), F::product(a[1], b[1]));
                [real, F::sum(F::product(a[0], b[1]), F::product(a[1], b[0]))]
            });
        },
        _ => return None,
    })
}

fn pair<V: Arithmetic, I: Arithmetic>(op: Op) -> Option<Kernel> {
    Some(match op {
        Op::MinLoc => |into, from, first| {
            each_pair(into, from, first, |a, b| located::<V, I>(a, b, Ordering::Less, V::smaller));
        },
        Op::MaxLoc => |into, from, first| {
            each_pair(into, from, first, |a, b| located::<V, I>(a, b, Ordering::Greater, V::larger));
        },
        _ => return None,
    })
}

type Located<V, I> = (<V as Arithmetic>::Stored, <I as Arithmetic>::Stored);

/// Returns the pair whose value compares with the other's as `wanted`. Of equal values it returns the one
/// that `chosen` prefers, since zeros have signs, with the smaller index.
fn located<V: Arithmetic, I: Arithmetic>(
    a: Located<V, I>,
    b: Located<V, I>,
    wanted: Ordering,
    chosen: fn(V::Stored, V::Stored) -> V::Stored,
) -> Located<V, I> {
    match V::order(a.0, b.0) {
        Some(Ordering::Equal) => (chosen(a.0, b.0), I::smaller(a.1, b.1)),
        Some(order) if order == wanted => a,
        Some(_) => b,
        None if V::is_nan(a.0) && V::is_nan(b.0) => (a.0, I::smaller(a.1, b.1)),
        None if V::is_nan(a.0) => b,
        None => a,
    }
}
