//! The interface of stochastic numbers in both forms, and of ordinary ones.

use std::fmt::{Debug, Display};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use crate::rounding::Float;
use crate::samples::Samples;

/// A number for computations. An algorithm written for it runs in the sequential form, in the parallel form,
/// and with plain `f64` or `f32`.
///
/// In the parallel form `+ - * /`, the change of sign, [`sqrt`](Self::sqrt) and `from` do not communicate.
/// All other functions, comparisons and printing communicate: all three ranks must call them, in the same
/// order.
///
/// A plain number rounds to nearest. It does not know its accuracy and claims that all of its digits are
/// significant.
pub trait Real:
    Copy
    + Debug
    + Display
    + PartialEq
    + PartialOrd
    + From<Self::Float>
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + 'static
{
    /// The underlying ordinary number.
    type Float: Float;

    /// Returns the square root.
    #[track_caller]
    fn sqrt(self) -> Self;
    /// Returns the absolute value: all samples change sign if the mean is negative.
    #[track_caller]
    fn abs(self) -> Self;
    /// Returns all samples, in the order of their random streams; a plain number has three equal ones.
    fn samples(self) -> Samples<Self::Float>;

    /// Returns the mean of the samples, which converts to an ordinary number.
    fn mean(self) -> Self::Float {
        crate::samples::mean(self.samples())
    }

    /// Returns the number of significant decimal digits, at most 15 (`f64`) or 7 (`f32`). Equal samples have
    /// all of them, a sample that is not a number gives 0.
    fn digits(self) -> u32 {
        crate::samples::digits(self.samples())
    }

    /// Returns true if the number is a computed zero: all samples are 0, or less than one digit is
    /// significant.
    fn is_computed_zero(self) -> bool {
        crate::samples::is_computed_zero(self.samples())
    }
}

macro_rules! plain {
    ($float:ty) => {
        impl Real for $float {
            type Float = $float;

            #[inline]
            fn sqrt(self) -> Self {
                self.sqrt()
            }

            #[inline]
            fn abs(self) -> Self {
                self.abs()
            }

            #[inline]
            fn samples(self) -> Samples<$float> {
                [self; 3]
            }
        }
    };
}

plain!(f64);
plain!(f32);
