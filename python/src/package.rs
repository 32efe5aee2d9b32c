//! Calls of the package's own Python code, which makes memory for results and reduces objects.

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

/// Memory for the result of a call that was given none.
pub struct ResultMemory<'py> {
    pub memory: Bound<'py, PyAny>,
    /// The result is the one item that is in it.
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
    /// As long as `data`, and of its type.
    pub fn like(data: &Bound<'py, PyAny>) -> PyResult<Self> {
        let made = call(data.py(), "canele._memory", "like", (data,))?;
        let (memory, is_item) = made.extract()?;
        Ok(Self { memory, is_item })
    }

    /// For so many items of the type of `data`, one behind the other.
    pub fn items(data: &Bound<'py, PyAny>, items: usize) -> PyResult<Self> {
        let memory = call(data.py(), "canele._memory", "items_like", (data, items))?;
        Ok(Self { memory, is_item: false })
    }

    /// For so many times what `data` holds: arrays get one more dimension, the first.
    pub fn times(data: &Bound<'py, PyAny>, times: u32) -> PyResult<Self> {
        let memory = call(data.py(), "canele._memory", "times_like", (data, times))?;
        Ok(Self { memory, is_item: false })
    }
}
