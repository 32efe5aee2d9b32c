//! Memory of Python's objects, lent by the buffer protocol (PEP 3118).
//!
//! Owns the views: an object cannot move or free its memory while a [`Buffer`] of it lives. That the program does not touch the memory
//! that an operation under way writes, nor changes what one reads, is the contract of the module's functions, as of MPI's.

use std::ffi::CStr;

use canele_engine::collective::{Number, Op, Reduction};
use canele_mem::buffer::{Raw, RawMut};
use canele_sys::device::{self, MemoryKind};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;

/// A view of contiguous memory of an object.
pub struct Buffer(Box<ffi::Py_buffer>);

// SAFETY: the view is released with the interpreter's lock held, by whichever thread; what it points to does not move meanwhile.
unsafe impl Send for Buffer {}
// SAFETY: a shared reference only reads the view.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Memory to be sent.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::with(object, ffi::PyBUF_ANY_CONTIGUOUS)
    }

    /// Memory to be filled.
    pub fn to_fill(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::with(object, ffi::PyBUF_ANY_CONTIGUOUS | ffi::PyBUF_WRITABLE)
    }

    /// Memory with numbers to be reduced, of which the view says the type.
    pub fn of_numbers(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::with(object, ffi::PyBUF_ANY_CONTIGUOUS | ffi::PyBUF_FORMAT)
    }

    /// Memory for the results of a reduction.
    pub fn numbers_to_fill(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::with(object, ffi::PyBUF_ANY_CONTIGUOUS | ffi::PyBUF_FORMAT | ffi::PyBUF_WRITABLE)
    }

    fn with(object: &Bound<'_, PyAny>, flags: std::ffi::c_int) -> PyResult<Self> {
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: the interpreter's lock is held, the object lives, and the view has an address of its own until it is released.
        let refused = unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &mut *view, flags) };
        if refused != 0 {
            return Err(explain(object, flags));
        }
        let buffer = Self(view);
        match device::memory_at(buffer.0.buf, buffer.len()) {
            MemoryKind::Host => Ok(buffer),
            memory => Err(PyBufferError::new_err(format!(
                "the buffer is {memory}, which no call takes: copy it to memory of the host first"
            ))),
        }
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.0.len.unsigned_abs()
    }

    /// Bytes of one item.
    pub fn item_bytes(&self) -> usize {
        self.0.itemsize.unsigned_abs().max(1)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        if self.len() == 0 {
            return &[];
        }
        // SAFETY: the view has so many contiguous bytes, which stay until it is released; the program does not change them while they are
        // read: the contract of the calls that it is lent to.
        unsafe { std::slice::from_raw_parts(self.0.buf.cast(), self.len()) }
    }

    /// Its bytes, to be filled.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        if self.len() == 0 {
            return &mut [];
        }
        // SAFETY: as of `bytes`, and the view was asked for to be written.
        unsafe { std::slice::from_raw_parts_mut(self.0.buf.cast(), self.len()) }
    }

    /// Its memory, to be sent. The buffer must outlive the operation.
    pub fn raw(&self) -> Raw {
        // SAFETY: the caller that lends it keeps the buffer until the operation has ended, and the program changes nothing meanwhile.
        unsafe { Raw::new(self.0.buf.cast(), 0, self.0.len) }
    }

    /// Its memory, to be filled. The buffer must outlive the operation.
    pub fn raw_mut(&mut self) -> RawMut {
        // SAFETY: as of `raw`, and the program touches none of it meanwhile.
        unsafe { RawMut::new(self.0.buf.cast(), 0, self.0.len) }
    }

    /// How its numbers are reduced.
    pub fn reduction(&self, op: Op) -> PyResult<Reduction> {
        let of = self.number()?;
        Ok(match of {
            Kind::Signed(1) => reduction::<i8>(op),
            Kind::Signed(2) => reduction::<i16>(op),
            Kind::Signed(4) => reduction::<i32>(op),
            Kind::Signed(_) => reduction::<i64>(op),
            Kind::Unsigned(1) => reduction::<u8>(op),
            Kind::Unsigned(2) => reduction::<u16>(op),
            Kind::Unsigned(4) => reduction::<u32>(op),
            Kind::Unsigned(_) => reduction::<u64>(op),
            Kind::Float(4) => reduction::<f32>(op),
            Kind::Float(_) => reduction::<f64>(op),
        })
    }

    /// What its items are, if they are numbers that can be reduced.
    pub fn number(&self) -> PyResult<Kind> {
        let format = match self.0.format.is_null() {
            true => "B",
            // SAFETY: a format is a string that lives as long as the view.
            false => unsafe { CStr::from_ptr(self.0.format) }.to_str().unwrap_or("?"),
        };
        let native = if cfg!(target_endian = "little") { ['@', '=', '<'] } else { ['@', '=', '>'] };
        let size = self.item_bytes();
        let kind = match (format.trim_start_matches(native), size) {
            ("b" | "h" | "i" | "l" | "q" | "n", 1 | 2 | 4 | 8) => Kind::Signed(size),
            ("B" | "H" | "I" | "L" | "Q" | "N" | "?", 1 | 2 | 4 | 8) if !format.ends_with('?') => {
                Kind::Unsigned(size)
            }
            ("f" | "d", 4 | 8) => Kind::Float(size),
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "items of format {format:?} cannot be reduced: give integers of 1 to 8 bytes or float32 or float64 in this machine's \
                     byte order, or use allgather_objects and reduce them in Python"
                )));
            }
        };
        if !(self.0.buf as usize).is_multiple_of(size) {
            return Err(PyBufferError::new_err(format!(
                "the numbers to be reduced do not lie at a multiple of their {size} bytes: copy them to an array of their own"
            )));
        }
        Ok(kind)
    }
}

fn reduction<T: Number>(op: Op) -> Reduction {
    Reduction::of::<T>(op)
}

/// What numbers are, with their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Signed(usize),
    Unsigned(usize),
    Float(usize),
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // Once the interpreter has ended nothing is to be released.
        // SAFETY: the view was filled by PyObject_GetBuffer, lies where it was, and is released once, with the interpreter's lock.
        Python::try_attach(|_| unsafe { ffi::PyBuffer_Release(&mut *self.0) });
    }
}

/// Why an object lends no memory, with what to do.
#[cold]
fn explain(object: &Bound<'_, PyAny>, flags: std::ffi::c_int) -> PyErr {
    let py = object.py();
    let cause = PyErr::fetch(py);
    let name = object.get_type().name().map_or_else(|_| "object".into(), |name| name.to_string());
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
