//! Memory of Python's objects, lent by the buffer protocol (PEP 3118).
//!
//! Owns the views: an object cannot move or free its memory while a [`Buffer`] of it lives. The contract of
//! the module's functions is that of MPI's: the program does not access memory that an operation under way
//! writes, and does not change memory that it reads. Never lends memory that holds Python objects: these are
//! addresses, which mean nothing to another process.

use std::ffi::{CStr, c_char, c_int};
use std::ops::Range;

use canele_collective::{Op, Reduction};
use canele_mem::buffer::{Raw, RawMut};
use canele_sys::device::{self, MemoryKind};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::items::{Items, has_objects};

/// A view of contiguous memory of an object.
pub struct Buffer {
    view: Box<ffi::Py_buffer>,
    /// numpy's name of the item type, if the buffer protocol has no format for the type.
    dtype: Option<String>,
}

// SAFETY: any thread may release the view, with the interpreter's lock held; its memory does not move
// meanwhile.
unsafe impl Send for Buffer {}
// SAFETY: a shared reference only reads the view.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Returns a view of memory to send.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::with(object, ffi::PyBUF_ANY_CONTIGUOUS)
    }

    /// Returns a view of memory to fill.
    pub fn to_fill(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::with(object, ffi::PyBUF_ANY_CONTIGUOUS | ffi::PyBUF_WRITABLE)
    }

    /// Returns a view of memory whose parts belong to ranks.
    pub fn of_parts(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::of(object)?.in_rows()
    }

    /// Returns a view of memory to fill with the parts of ranks, or with one of them.
    pub fn parts_to_fill(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::to_fill(object)?.in_rows()
    }

    /// Refuses an array in Fortran's order, in which the part of a rank does not consist of rows.
    pub fn in_rows(self) -> PyResult<Self> {
        match self.is_in_order(b'C') {
            true => Ok(self),
            false => Err(PyBufferError::new_err(
                "the array does not lie in C's order, but the part of each rank is some of its rows: give an array in C's order, as \
                 numpy.ascontiguousarray makes it",
            )),
        }
    }

    fn with(object: &Bound<'_, PyAny>, flags: c_int) -> PyResult<Self> {
        let py = object.py();
        let (mut buffer, dtype) = match Self::lent(object, flags | ffi::PyBUF_FORMAT) {
            Ok(buffer) => (buffer, None),
            Err(refused) if refused.is_instance_of::<PyTypeError>(py) => {
                return Err(explain(object, flags, refused));
            }
            // Some arrays of numpy lend their memory, but have no format for it: bfloat16, times.
            Err(_) => {
                let buffer = Self::lent(object, flags).map_err(|refused| explain(object, flags, refused))?;
                (buffer, object.getattr(pyo3::intern!(py, "dtype")).ok())
            }
        };
        let holds_objects = match &dtype {
            Some(dtype) => dtype.getattr(pyo3::intern!(py, "hasobject")).and_then(|has| has.is_truthy()),
            None => Ok(buffer.format().is_some_and(|format| has_objects(format.to_bytes()))),
        };
        if holds_objects.unwrap_or(false) {
            return Err(PyTypeError::new_err(format!(
                "the memory of this {} holds Python objects, which are addresses in this process: use the functions with `object` in their \
                 name, which pickle them",
                type_name(object)
            )));
        }
        let name = dtype.map(|dtype| dtype.getattr(pyo3::intern!(py, "name"))?.extract::<String>());
        buffer.dtype = name.and_then(Result::ok);
        match device::memory_at(buffer.view.buf, buffer.len()) {
            MemoryKind::Host => Ok(buffer),
            memory => Err(PyBufferError::new_err(format!(
                "the buffer is {memory}, which no call takes: copy it to memory of the host first"
            ))),
        }
    }

    /// Returns the view that an object gives, or the error that it raises.
    fn lent(object: &Bound<'_, PyAny>, flags: c_int) -> PyResult<Self> {
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: the interpreter's lock is held, the object lives, and the view keeps its address until it
        // is released.
        let refused = unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &mut *view, flags) };
        if refused == 0 { Ok(Self { view, dtype: None }) } else { Err(PyErr::fetch(object.py())) }
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.view.len.unsigned_abs()
    }

    /// Returns the size of one item in bytes.
    pub fn item_bytes(&self) -> usize {
        self.view.itemsize.unsigned_abs().max(1)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        if self.len() == 0 {
            return &[];
        }
        // SAFETY: the view has so many contiguous bytes, which stay until it is released. By the contract of
        // the calls, the program does not change them while they are read.
        unsafe { std::slice::from_raw_parts(self.view.buf.cast(), self.len()) }
    }

    /// Its bytes, to be filled.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if self.len() == 0 {
            return &mut [];
        }
        // SAFETY: as in `bytes`, and the view was requested as writable.
        unsafe { std::slice::from_raw_parts_mut(self.view.buf.cast(), self.len()) }
    }

    /// Returns its memory for a send. The buffer must outlive the operation.
    pub fn raw(&self) -> Raw {
        // SAFETY: the caller keeps the buffer until the operation has ended, and the program changes nothing
        // meanwhile.
        unsafe { Raw::new(self.view.buf.cast(), 0, self.view.len) }
    }

    /// Returns its memory for a receive. The buffer must outlive the operation.
    pub fn raw_mut(&mut self) -> RawMut {
        // SAFETY: as in `raw`, and the program accesses none of it meanwhile.
        unsafe { RawMut::new(self.view.buf.cast(), 0, self.view.len) }
    }

    /// Returns the reduction of its items, if the operation is defined for them.
    pub fn reduction(&self, op: Op) -> Option<Reduction> {
        op.kernel(self.items().element()?).map(Reduction::from)
    }

    /// Returns the type of its items.
    pub fn items(&self) -> Items {
        let format = || self.format().map(|format| format.to_str().unwrap_or("?"));
        Items::of(self.dtype.as_deref().or_else(format), self.item_bytes())
    }

    /// Returns the format of its items, if the object states it.
    fn format(&self) -> Option<&CStr> {
        // SAFETY: a format is a string that lives as long as the view.
        (!self.view.format.is_null()).then(|| unsafe { CStr::from_ptr(self.view.format) })
    }

    /// Returns true if its items lie in C's order (`C`) or in Fortran's (`F`). Items of one dimension lie in
    /// both.
    fn is_in_order(&self, order: u8) -> bool {
        // SAFETY: the view was filled by PyObject_GetBuffer.
        unsafe { ffi::PyBuffer_IsContiguous(&*self.view, c_char::from_ne_bytes([order])) != 0 }
    }

    /// Returns true if the items of both buffers lie in one order.
    pub fn has_order_of(&self, other: &Self) -> bool {
        [b'C', b'F'].into_iter().any(|order| self.is_in_order(order) && other.is_in_order(order))
    }

    /// Returns the range of its addresses.
    fn addresses(&self) -> Range<usize> {
        let begin = self.view.buf.addr();
        begin..begin.saturating_add(self.len())
    }

    /// Returns true if both buffers have a byte in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        let (mine, theirs) = (self.addresses(), other.addresses());
        mine.start.max(theirs.start) < mine.end.min(theirs.end)
    }

    /// Returns true if both buffers are the same bytes.
    pub fn is_same_memory(&self, other: &Self) -> bool {
        self.addresses() == other.addresses()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // After the end of the interpreter nothing needs to be released. SAFETY: the view was filled by
        // PyObject_GetBuffer, has kept its address, and is released once, with the interpreter's lock held.
        Python::try_attach(|_| unsafe { ffi::PyBuffer_Release(&mut *self.view) });
    }
}

/// Makes the error of an object that lends no memory, with the remedy.
#[cold]
fn explain(object: &Bound<'_, PyAny>, flags: c_int, cause: PyErr) -> PyErr {
    let (py, name) = (object.py(), type_name(object));
    let error = if cause.is_instance_of::<PyTypeError>(py) {
        PyTypeError::new_err(format!(
            "a message is sent from and received into memory (bytes, bytearray, memoryview, array.array, numpy.ndarray …), which {name} does \
             not lend: use the functions with `object` in their name for other objects"
        ))
    } else if flags & ffi::PyBUF_WRITABLE != 0 {
        PyBufferError::new_err(format!(
            "this {name} cannot be filled: it is read-only, or not contiguous; receive into a bytearray or a contiguous writable array"
        ))
    } else {
        PyBufferError::new_err(format!(
            "this {name} is not contiguous: send a contiguous copy, as numpy.ascontiguousarray makes it"
        ))
    };
    error.set_cause(py, Some(cause));
    error
}

/// Returns the name of an object's type.
#[cold]
fn type_name(object: &Bound<'_, PyAny>) -> String {
    object.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string())
}
