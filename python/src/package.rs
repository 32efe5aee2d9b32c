//! Calls of the package's own Python code, which makes memory for results and reduces objects.

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

/// Memory for the result of a call to which the program gave none.
pub struct ResultMemory<'py> {
    pub memory: Bound<'py, PyAny>,
    /// True if the result is the only item of the memory.
    pub is_item: bool,
}

/// Calls a function of a module of the package.
pub fn call<'py>(
    py: Python<'py>,
    module: &str,
    function: &str,
    arguments: impl PyCallArgs<'py>,
) -> PyResult<Bound<'py, PyAny>> {
    py.import(module)?.getattr(function)?.call1(arguments)
}

impl<'py> ResultMemory<'py> {
    /// Makes memory of the length and the type of `data`.
    pub fn like(data: &Bound<'py, PyAny>) -> PyResult<Self> {
        let made = call(data.py(), "canele._memory", "like", (data,))?;
        let (memory, is_item) = made.extract()?;
        Ok(Self { memory, is_item })
    }

    /// Makes memory for `items` consecutive items of the type of `data`.
    pub fn items(data: &Bound<'py, PyAny>, items: usize) -> PyResult<Self> {
        let memory = call(data.py(), "canele._memory", "items_like", (data, items))?;
        Ok(Self { memory, is_item: false })
    }

    /// Makes memory for `times` times the items of `data`. Arrays get one more dimension, the first.
    pub fn times(data: &Bound<'py, PyAny>, times: u32) -> PyResult<Self> {
        let memory = call(data.py(), "canele._memory", "times_like", (data, times))?;
        Ok(Self { memory, is_item: false })
    }
}
