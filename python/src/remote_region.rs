//! Regions of any rank, reached one-sidedly.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::buffer::Buffer;
use crate::context::Context;
use crate::errors::raise;
use crate::job::left;
use crate::package::call;
use crate::wait::{deadline, in_portions};

/// A region of any rank, as other ranks see it; made by Job.find_region() and Region.remote().
///
/// Offsets are in bytes. Ranks on the owner's host reach the region without the owner's help. For ranks on other hosts the owner's library
/// serves it, in each call that waits or tests.
#[pyclass(frozen, module = "canele")]
pub struct RemoteRegion {
    context: Arc<Context>,
    remote: canele::RemoteRegion,
}

impl RemoteRegion {
    pub fn new(context: Arc<Context>, remote: canele::RemoteRegion) -> Self {
        Self { context, remote }
    }
}

#[pymethods]
impl RemoteRegion {
    /// The rank that owns the region.
    #[getter]
    fn owner(&self) -> u32 {
        self.remote.owner().0
    }

    /// Returns the region, or a part of it, as a canele.RemoteArray of `shape` and numpy's type `dtype`, from `offset` bytes on. Its slices
    /// are read and written.
    ///
    /// Raises ImportError without numpy.
    #[pyo3(signature = (dtype, shape, offset=0))]
    fn array<'py>(
        slf: &Bound<'py, Self>,
        dtype: &Bound<'py, PyAny>,
        shape: &Bound<'py, PyAny>,
        offset: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        call(slf.py(), "canele.remote_array", "RemoteArray", (slf, dtype, shape, offset))
    }

    /// Writes `data` at `offset`. On return the write is complete at both ends.
    ///
    /// Raises OutOfRange. If the owner is on another host, raises Refused, PeerFailed and PeerFinished, too.
    fn put(&self, py: Python<'_>, offset: usize, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let buffer = Buffer::of(data)?;
        py.detach(|| self.remote.put(offset, buffer.bytes())).map_err(|error| raise(py, error))
    }

    /// Reads from `offset` on into writable memory `data`. Raises the errors of put().
    fn get(&self, py: Python<'_>, offset: usize, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut buffer = Buffer::to_fill(data)?;
        py.detach(|| self.remote.get(offset, buffer.bytes_mut())).map_err(|error| raise(py, error))
    }

    /// Writes `data`, and then gives the owner the identifier `notice`. When Job.wait_notice() returns this notice, the data is in the
    /// region.
    ///
    /// Raises OutOfRange, PeerFailed and PeerFinished. The next fence() raises any other error on another host.
    fn put_notify(
        &self,
        py: Python<'_>,
        offset: usize,
        data: &Bound<'_, PyAny>,
        notice: u64,
    ) -> PyResult<()> {
        let buffer = Buffer::of(data)?;
        py.detach(|| self.remote.put_notify(offset, buffer.bytes(), notice)).map_err(|error| raise(py, error))
    }

    /// Waits until all data of earlier puts is in the owner's memory.
    #[pyo3(signature = (timeout=None))]
    fn fence(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        in_portions(py, deadline(timeout)?, |end| self.remote.fence(Some(left(end))), |_| Ok(()))
    }

    /// Adds `n` to the unsigned 64-bit word at `offset`, atomically among all ranks. `offset` is a multiple of 8. Returns the old value.
    fn fetch_add(&self, py: Python<'_>, offset: usize, n: u64) -> PyResult<u64> {
        py.detach(|| self.remote.fetch_add(offset, n)).map_err(|error| raise(py, error))
    }

    /// Replaces the unsigned 64-bit word at `offset` by `new` if its value is `expected`. Returns the old value.
    fn compare_and_swap(&self, py: Python<'_>, offset: usize, expected: u64, new: u64) -> PyResult<u64> {
        py.detach(|| self.remote.compare_and_swap(offset, expected, new)).map_err(|error| raise(py, error))
    }

    fn __repr__(&self) -> String {
        format!(
            "<canele.RemoteRegion of rank {}, seen from rank {}>",
            self.owner(),
            self.context.endpoint.rank().0
        )
    }
}
