//! Regions of this rank: memory that peers read and write, and that Python uses as a buffer.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyOverflowError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::buffer::Buffer;
use crate::context::Context;
use crate::errors::raise;
use crate::job::closed;
use crate::package::call;
use crate::remote_region::RemoteRegion;

/// Memory that Canelé allocates and that other ranks may read and write at any time; made by Job.region().
///
/// The region gives its memory to Python without a copy: `numpy.frombuffer(region, dtype)` is a writable array in it. A reader may see only
/// a part of a peer's write until a notice, message or collective says that the write is complete. Messages from and into such arrays are
/// sent like those of other memory.
#[pyclass(frozen, module = "canele")]
pub struct Region {
    context: Arc<Context>,
    region: Mutex<Option<Arc<canele::Region>>>,
    /// Keeps the region mapped as long as Python has views of it.
    memory: Arc<canele_engine::Region>,
}

impl Region {
    pub fn new(context: Arc<Context>, region: canele::Region) -> Self {
        let memory = region.memory().clone();
        Self { context, region: Mutex::new(Some(Arc::new(region))), memory }
    }

    /// Returns the engine's region, unless it is closed.
    pub fn memory(&self, py: Python<'_>) -> PyResult<&Arc<canele_engine::Region>> {
        self.open(py).map(|_| &self.memory)
    }

    fn open(&self, py: Python<'_>) -> PyResult<Arc<canele::Region>> {
        let region = self.region.lock().unwrap_or_else(PoisonError::into_inner).clone();
        region.ok_or_else(|| closed(py, "region"))
    }
}

#[pymethods]
impl Region {
    fn __len__(&self) -> usize {
        self.memory.len()
    }

    /// Publishes the region: any rank finds it under `name`. Raises NameTaken.
    fn publish(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        let region = self.open(py)?;
        py.detach(|| region.publish(name)).map_err(|error| raise(py, error))
    }

    /// Returns this region as other ranks see it.
    fn remote(&self, py: Python<'_>) -> PyResult<RemoteRegion> {
        Ok(RemoteRegion::new(self.context.clone(), self.open(py)?.remote()))
    }

    /// Copies bytes of the region, from `offset` on, into writable memory `data`. Raises OutOfRange.
    fn read(&self, py: Python<'_>, offset: usize, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut buffer = Buffer::to_fill(data)?;
        self.open(py)?.read(offset, buffer.bytes_mut()).map_err(|error| raise(py, error))
    }

    /// Copies `data` into the region, from `offset` bytes on. Raises OutOfRange.
    fn write(&self, py: Python<'_>, offset: usize, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let buffer = Buffer::of(data)?;
        self.open(py)?.write(offset, buffer.bytes()).map_err(|error| raise(py, error))
    }

    /// Returns an array of numpy in the region, without a copy. It has `shape` and the type `dtype`, and begins at `offset` bytes. Without
    /// a shape it has one dimension, and takes all of the region from there on.
    ///
    /// Raises OutOfRange if the array does not fit, and ImportError without numpy.
    #[pyo3(signature = (dtype=None, shape=None, offset=0))]
    fn array<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        shape: Option<&Bound<'py, PyAny>>,
        offset: usize,
    ) -> PyResult<Bound<'py, PyAny>> {
        call(slf.py(), "canele.remote_array", "local_array", (slf, dtype, shape, offset))
    }

    /// Closes the region: peers can no longer reach it. Arrays in it stay valid.
    fn close(&self) {
        drop(self.region.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(&self, _kind: &Bound<'_, PyAny>, _value: &Bound<'_, PyAny>, _traceback: &Bound<'_, PyAny>) {
        self.close();
    }

    /// Lends the memory of the region.
    ///
    /// # Safety
    /// `view` is a view that Python asks to be filled.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let memory = slf.get().memory(slf.py())?;
        let len = ffi::Py_ssize_t::try_from(memory.len())
            .map_err(|error| PyOverflowError::new_err(error.to_string()))?;
        // SAFETY: Python asks for the view to be filled. The view gets a reference to this object, which
        // keeps the memory mapped. Peers share the memory; the documentation of the class says so.
        let refused =
            unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), memory.address().cast(), len, 0, flags) };
        if refused == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }

    fn __repr__(&self) -> String {
        format!("<canele.Region of {} bytes>", self.memory.len())
    }
}
