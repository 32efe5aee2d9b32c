//! Reductions, element by element: of numbers here, of other types by functions of the layer above.
//!
//! Their results are the same bits in every run and on every rank: operands are combined in an order the
//! schedule fixes.

use std::sync::Arc;

use bytemuck::Pod;

/// The operation that combines two numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// Their sum; integers wrap around.
    Sum,
    /// The smaller; −0 is smaller than +0, and a number is taken before a NaN.
    Min,
    /// The larger; likewise.
    Max,
    /// Their product; integers wrap around.
    Prod,
}

/// Combines each element of the second slice into the first; the flag is true if the second's elements come
/// first. Both have the same length, of whole elements.
pub type Kernel = fn(&mut [u8], &[u8], bool);

/// Does this with captured state.
pub type SharedKernel = dyn Fn(&mut [u8], &[u8], bool) + Send + Sync;

/// The reduction of the elements of a call.
#[derive(Clone)]
pub struct Reduction(ReductionKernel);

#[derive(Clone)]
enum ReductionKernel {
    Plain(Kernel),
    Shared(Arc<SharedKernel>),
}

impl From<Kernel> for Reduction {
    fn from(kernel: Kernel) -> Self {
        Self(ReductionKernel::Plain(kernel))
    }
}

impl From<Arc<SharedKernel>> for Reduction {
    fn from(kernel: Arc<SharedKernel>) -> Self {
        Self(ReductionKernel::Shared(kernel))
    }
}

impl Reduction {
    /// Combines `from` into `into`.
    #[inline(always)]
    pub fn combine(&self, into: &mut [u8], from: &[u8], from_first: bool) {
        match &self.0 {
            ReductionKernel::Plain(kernel) => kernel(into, from, from_first),
            ReductionKernel::Shared(kernel) => kernel(into, from, from_first),
        }
    }

    /// Makes the reduction of elements `T` by `op`.
    pub fn of<T: Number>(op: Op) -> Self {
        let kernel: Kernel = match op {
            Op::Sum => |into: &mut [u8], from: &[u8], first| fold(into, from, first, T::sum),
            Op::Min => |into: &mut [u8], from: &[u8], first| fold(into, from, first, T::min_of),
            Op::Max => |into: &mut [u8], from: &[u8], first| fold(into, from, first, T::max_of),
            Op::Prod => |into: &mut [u8], from: &[u8], first| fold(into, from, first, T::product),
        };
        kernel.into()
    }
}

/// Combines slices out of line: one loop per type and operation, which the compiler turns into vector
/// instructions.
fn fold<T: Number>(into: &mut [u8], from: &[u8], from_first: bool, f: impl Fn(T, T) -> T) {
    // User buffers are slices of `T`, scratch is aligned to 16 bytes, and no schedule cuts an element.
    let (into, from) = (bytemuck::cast_slice_mut::<u8, T>(into), bytemuck::cast_slice::<u8, T>(from));
    let pairs = into.iter_mut().zip(from);
    if from_first {
        pairs.for_each(|(a, b)| *a = f(*b, *a));
    } else {
        pairs.for_each(|(a, b)| *a = f(*a, *b));
    }
}

/// The numbers that can be reduced: `f32`, `f64`, and integers of 8 to 64 bits.
pub trait Number: Pod + private::Sealed {
    #[doc(hidden)]
    fn sum(a: Self, b: Self) -> Self;
    #[doc(hidden)]
    fn product(a: Self, b: Self) -> Self;
    #[doc(hidden)]
    fn min_of(a: Self, b: Self) -> Self;
    #[doc(hidden)]
    fn max_of(a: Self, b: Self) -> Self;
}

mod private {
    pub trait Sealed {}
}

macro_rules! integers {
    ($($t:ty)*) => {$(
        impl private::Sealed for $t {}
        impl Number for $t {
            fn sum(a: Self, b: Self) -> Self {
                a.wrapping_add(b)
            }
            fn product(a: Self, b: Self) -> Self {
                a.wrapping_mul(b)
            }
            fn min_of(a: Self, b: Self) -> Self {
                a.min(b)
            }
            fn max_of(a: Self, b: Self) -> Self {
                a.max(b)
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! floats {
    ($($t:ty)*) => {$(
        impl private::Sealed for $t {}
        impl Number for $t {
            fn sum(a: Self, b: Self) -> Self {
                a + b
            }
            fn product(a: Self, b: Self) -> Self {
                a * b
            }
            // The standard library leaves open which zero it returns; here all ranks must agree.
            fn min_of(a: Self, b: Self) -> Self {
                if b.is_nan() || a < b || (a == b && a.is_sign_negative()) { a } else { b }
            }
            fn max_of(a: Self, b: Self) -> Self {
                if b.is_nan() || a > b || (a == b && a.is_sign_positive()) { a } else { b }
            }
        }
    )*};
}
floats!(f32 f64);

#[cfg(test)]
mod tests {
    use super::*;

    fn reduced<T: Number>(op: Op, into: &[T], from: &[T], from_first: bool) -> Vec<T> {
        let mut result = into.to_vec();
        let (into, from) = (bytemuck::cast_slice_mut(&mut result), bytemuck::cast_slice(from));
        Reduction::of::<T>(op).combine(into, from, from_first);
        result
    }

    #[test]
    fn every_operation_does_what_it_says() {
        assert_eq!(reduced(Op::Sum, &[1u8, 255], &[2, 1], false), [3, 0]);
        assert_eq!(reduced(Op::Prod, &[3i16, -4], &[5, 6], true), [15, -24]);
        assert_eq!(reduced(Op::Min, &[3i64, -4], &[5, -6], false), [3, -6]);
        assert_eq!(reduced(Op::Max, &[3f32, -4.0], &[5.0, -6.0], false), [5.0, -4.0]);
    }

    #[test]
    fn zeros_and_nan_do_not_depend_on_the_order() {
        let (zeros, nan) = ([0.0f64, -0.0], f64::NAN);
        for from_first in [false, true] {
            for (a, b) in [(zeros[0], zeros[1]), (zeros[1], zeros[0])] {
                assert!(reduced(Op::Min, &[a], &[b], from_first)[0].is_sign_negative());
                assert!(reduced(Op::Max, &[a], &[b], from_first)[0].is_sign_positive());
            }
            for op in [Op::Min, Op::Max] {
                assert_eq!(reduced(op, &[nan], &[1.0], from_first), [1.0]);
                assert_eq!(reduced(op, &[1.0], &[nan], from_first), [1.0]);
                assert!(reduced(op, &[nan], &[nan], from_first)[0].is_nan());
            }
        }
    }
}
