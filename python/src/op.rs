//! The operations of reductions: those of the module, and functions of the program.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// An operation by which a reduction combines two values. You may give a function of two arguments instead.
///
/// Results have the same bits on every rank, and in every run with as many ranks.
#[pyclass(frozen, eq, eq_int, hash, from_py_object, rename_all = "UPPERCASE", module = "canele")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// The sum; integers wrap around.
    Sum,
    /// The smaller value; a number is preferred to a NaN.
    Min,
    /// The larger value; a number is preferred to a NaN.
    Max,
    /// The product; integers wrap around.
    Prod,
    /// True if both values are true, that is, not 0.
    Land,
    /// True if at least one value is true.
    Lor,
    /// True if exactly one value is true.
    Lxor,
    /// The bits that are set in both values.
    Band,
    /// The bits that are set in at least one value.
    Bor,
    /// The bits that are set in exactly one value.
    Bxor,
    /// The pair (value, index) with the smaller value; of equal values, the one with the smaller index.
    Minloc,
    /// The pair (value, index) with the larger value; of equal values, the one with the smaller index.
    Maxloc,
}

impl Op {
    /// Returns its name in Python.
    pub fn name(self) -> String {
        format!("{self:?}").to_uppercase()
    }
}

impl From<Op> for canele::Op {
    fn from(op: Op) -> Self {
        match op {
            Op::Sum => Self::Sum,
            Op::Min => Self::Min,
            Op::Max => Self::Max,
            Op::Prod => Self::Prod,
            Op::Land => Self::LogicalAnd,
            Op::Lor => Self::LogicalOr,
            Op::Lxor => Self::LogicalXor,
            Op::Band => Self::BitAnd,
            Op::Bor => Self::BitOr,
            Op::Bxor => Self::BitXor,
            Op::Minloc => Self::MinLoc,
            Op::Maxloc => Self::MaxLoc,
        }
    }
}

/// An operation that a Python program gives.
pub enum GivenOp<'py> {
    /// An operation of the module.
    Known(Op),
    /// A function of two arguments: the value of the lower ranks and the value of the higher ranks.
    Function(Bound<'py, PyAny>),
}

impl<'a, 'py> FromPyObject<'a, 'py> for GivenOp<'py> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(op) = given.extract::<Op>() {
            return Ok(Self::Known(op));
        }
        match given.is_callable() {
            true => Ok(Self::Function(given.to_owned())),
            false => {
                let name = given.get_type().name()?;
                Err(PyTypeError::new_err(format!(
                    "op is a {name}: give one of canele.Op, or a function of two arguments"
                )))
            }
        }
    }
}

impl<'py> GivenOp<'py> {
    /// Returns the Python object of the operation, for functions of the package.
    pub fn into_object(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Known(op) => Ok(Bound::new(py, op)?.into_any()),
            Self::Function(function) => Ok(function),
        }
    }
}
