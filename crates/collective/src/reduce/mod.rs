//! Reductions, element by element: of numbers here, of other types by functions of the layer above.
//!
//! Their results are the same bits in every run and on every rank: operands are combined in an order the
//! schedule fixes.

mod bfloat;
mod element;
mod fold;
mod half;
mod numbers;
mod table;

use std::sync::Arc;

use bytemuck::Pod;

pub use element::Element;

/// The operation that combines two elements (MPI 5.0, §6.9.2).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Their sum; integers wrap around.
    Sum,
    /// The smaller; −0 is smaller than +0, and a number is taken before a NaN.
    Min,
    /// The larger; likewise.
    Max,
    /// Their product; integers wrap around.
    Prod,
    /// Bits that are set in both.
    BitAnd,
    /// Bits that are set in one at least.
    BitOr,
    /// Bits that are set in one only.
    BitXor,
    /// 1 if neither is 0, else 0.
    LogicalAnd,
    /// 1 if one at least is not 0, else 0.
    LogicalOr,
    /// 1 if one only is not 0, else 0.
    LogicalXor,
    /// The pair with the smaller value; of equal ones, with the smaller index.
    MinLoc,
    /// The pair with the larger value; of equal ones, with the smaller index.
    MaxLoc,
}

impl Op {
    /// Returns the function that combines these elements, if the operation is defined for them. Buffers need
    /// not be aligned.
    pub fn kernel(self, element: Element) -> Option<Kernel> {
        table::kernel(self, element)
    }
}

/// Combines each element of the second slice into the first; the flag is true if the second's elements come
/// first. Both have the same length, of whole elements.
pub type Kernel = fn(&mut [u8], &[u8], bool);

/// A [`Kernel`] with captured state.
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

    /// Makes the reduction of numbers `T` by `op`.
    ///
    /// # Panics
    /// Panics if the operation is not defined for them: bit and logical operations on floating-point numbers,
    /// and `MinLoc` and `MaxLoc`, which need pairs.
    pub fn of<T: Number>(op: Op) -> Self {
        let kernel = op.kernel(T::ELEMENT);
        kernel.unwrap_or_else(|| panic!("{op:?} is not defined for {}", T::ELEMENT.name())).into()
    }
}

/// The numbers that can be reduced: `f32`, `f64`, and integers of 8 to 64 bits.
pub trait Number: Pod + private::Sealed {
    /// The element that they are to the operations.
    #[doc(hidden)]
    const ELEMENT: Element;
}

mod private {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($t:ty: $element:ident)*) => {$(
        impl private::Sealed for $t {}
        impl Number for $t {
            const ELEMENT: Element = Element::$element;
        }
    )*};
}
numbers!(i8: I8 i16: I16 i32: I32 i64: I64 u8: U8 u16: U16 u32: U32 u64: U64 f32: F32 f64: F64);

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
        assert_eq!(reduced(Op::BitXor, &[3u32, 4], &[5, 4], false), [6, 0]);
        assert_eq!(reduced(Op::LogicalAnd, &[3i8, 0], &[5, 4], false), [1, 0]);
    }

    #[test]
    fn what_is_not_defined_has_no_kernel() {
        assert!(Op::BitAnd.kernel(Element::F64).is_none());
        assert!(Op::Max.kernel(Element::ComplexF32).is_none());
        assert!(Op::MinLoc.kernel(Element::I32).is_none() && Op::MinLoc.kernel(Element::IntInt).is_some());
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
