//! Types of items and operations, as numbers.

use crate::error::ReportedError;
use canele::Op;

/// A type of items: one of CANELE_INT8 to CANELE_DOUBLE. All ranks of a job represent items in the same way.
pub type canele_type = i32;

/// int8_t
pub const CANELE_INT8: canele_type = 1;
/// uint8_t, and bytes of any data
pub const CANELE_UINT8: canele_type = 2;
/// int16_t
pub const CANELE_INT16: canele_type = 3;
/// uint16_t
pub const CANELE_UINT16: canele_type = 4;
/// int32_t
pub const CANELE_INT32: canele_type = 5;
/// uint32_t
pub const CANELE_UINT32: canele_type = 6;
/// int64_t
pub const CANELE_INT64: canele_type = 7;
/// uint64_t
pub const CANELE_UINT64: canele_type = 8;
/// float
pub const CANELE_FLOAT: canele_type = 9;
/// double
pub const CANELE_DOUBLE: canele_type = 10;

/// An operation by which reductions combine items: CANELE_SUM, CANELE_MIN, CANELE_MAX or CANELE_PROD.
pub type canele_op = i32;

/// The sum; integers wrap around.
pub const CANELE_SUM: canele_op = 1;
/// The smallest item; -0 is smaller than +0, and a number is preferred to a NaN.
pub const CANELE_MIN: canele_op = 2;
/// The largest item; +0 is larger than -0, and a number is preferred to a NaN.
pub const CANELE_MAX: canele_op = 3;
/// The product; integers wrap around.
pub const CANELE_PROD: canele_op = 4;

/// Returns the operation that a number stands for.
pub fn op(op: canele_op) -> Result<Op, ReportedError> {
    match op {
        CANELE_SUM => Ok(Op::Sum),
        CANELE_MIN => Ok(Op::Min),
        CANELE_MAX => Ok(Op::Max),
        CANELE_PROD => Ok(Op::Prod),
        _ => Err(ReportedError::argument(format!(
            "there is no operation {op}: CANELE_SUM, CANELE_MIN, CANELE_MAX and CANELE_PROD are known"
        ))),
    }
}

/// Evaluates an expression in which the given name stands for the type of a number.
macro_rules! with_type {
    ($number:expr, $T:ident => $body:expr) => {
        $crate::types::with_type!(@ $number, $T => $body;
            CANELE_INT8 i8, CANELE_UINT8 u8, CANELE_INT16 i16, CANELE_UINT16 u16, CANELE_INT32 i32, CANELE_UINT32 u32,
            CANELE_INT64 i64, CANELE_UINT64 u64, CANELE_FLOAT f32, CANELE_DOUBLE f64)
    };
    (@ $number:expr, $T:ident => $body:expr; $($constant:ident $type:ty),*) => {
        match $number {
            $($crate::types::$constant => {
                type $T = $type;
                $body
            })*
            other => Err($crate::types::no_type(other)),
        }
    };
}
pub(crate) use with_type;

/// Makes the error of an unknown type.
#[cold]
pub fn no_type(number: canele_type) -> ReportedError {
    ReportedError::argument(format!("there is no type {number}: CANELE_INT8 to CANELE_DOUBLE are known"))
}
