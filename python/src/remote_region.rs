//! Regions of any rank, reached one-sidedly.

use std::sync::Arc;

use pyo3::prelude::*;

use crate::buffer::Buffer;
use crate::context::Context;
use crate::errors::raise;
use crate::job::left;
use crate::package::call;
use crate::wait::{deadline, in_portions};

/// A region of some rank as seen from here; made by Job.find_region() and Region.remote().
///
/// Offsets are in bytes. Ranks of the owner's host reach it without the owner's help; for others the owner's library does it, in any call
/// that waits or tests.
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
    /// The rank whose memory it is.
    #[getter]
    fn owner(&self) -> u32 {
        self.remote.owner().0
    }

    /// The region, or a part of it, as an array of `shape` and numpy's type `dtype`, from `offset` bytes on: its slices are read and written; see
    /// canele.RemoteArray.
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

    /// Writes `data` at `offset`; complete at both ends on return.
    ///
    /// Raises OutOfRange; on another host Refused, PeerFailed, PeerFinished.
    fn put(&self, py: Python<'_>, offset: usize, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let buffer = Buffer::of(data)?;
        py.detach(|| self.remote.put(offset, buffer.bytes())).map_err(|error| raise(py, error))
    }

    /// Reads into writable memory `data` from `offset` on. Raises what put() raises.
    fn get(&self, py: Python<'_>, offset: usize, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut buffer = Buffer::to_fill(data)?;
        py.detach(|| self.remote.get(offset, buffer.bytes_mut())).map_err(|error| raise(py, error))
    }

    /// Writes `data` and then shows the owner the identifier `notice`: the data is in the region when Job.wait_notice() returns it.
    ///
    /// Raises OutOfRange, PeerFailed, PeerFinished; what else goes wrong on another host the next fence() raises.
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

    /// Waits until everything put there so far is in the owner's memory.
    #[pyo3(signature = (timeout=None))]
    fn fence(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<()> {
        in_portions(py, deadline(timeout)?, |end| self.remote.fence(Some(left(end))), |_| Ok(()))
    }

    /// Adds `n` to the unsigned 64-bit word at `offset`, a multiple of 8, atomically among all ranks; returns the old value.
    fn fetch_add(&self, py: Python<'_>, offset: usize, n: u64) -> PyResult<u64> {
        py.detach(|| self.remote.fetch_add(offset, n)).map_err(|error| raise(py, error))
    }

    /// Replaces the unsigned 64-bit word at `offset` by `new` if it is `expected`; returns the old value.
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
