//! How reductions combine: the operations that the module knows, and functions of the program.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// How a reduction combines two values. You may give a function of two arguments instead.
///
/// Results have the same bits on every rank, and in every run with as many ranks.
#[pyclass(frozen, eq, eq_int, hash, from_py_object, rename_all = "UPPERCASE", module = "canele")]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// Their sum; integers wrap around.
    Sum,
    /// The smaller; a number is taken before a NaN.
    Min,
    /// The larger; a number is taken before a NaN.
    Max,
    /// Their product; integers wrap around.
    Prod,
    /// Whether both are true, which are those that are not 0.
    Land,
    /// Whether one at least is true.
    Lor,
    /// Whether one only is true.
    Lxor,
    /// Bits that are set in both.
    Band,
    /// Bits that are set in one at least.
    Bor,
    /// Bits that are set in one only.
    Bxor,
    /// Of pairs (value, index) that with the smaller value; of equal values, with the smaller index.
    Minloc,
    /// Of pairs (value, index) that with the larger value; of equal values, with the smaller index.
    Maxloc,
}

impl Op {
    /// Its name in Python.
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

/// An operation as Python gives it.
pub enum GivenOp<'py> {
    /// One that the module knows.
    Known(Op),
    /// A function of two arguments: the value of the lower ranks and that of the higher ones.
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
    /// The object that Python gave, for functions of the package.
    pub fn into_object(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Known(op) => Ok(Bound::new(py, op)?.into_any()),
            Self::Function(function) => Ok(function),
        }
    }
}
