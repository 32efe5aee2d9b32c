//! Objects as messages: pickled with protocol 5, their large buffers beside the pickle.
//!
//! An object is one message, so that it is matched as one. The receiver knows its length, and allocates
//! memory once; the loaded object uses its buffers there. The lengths of the parts stand at the end of the
//! message, because a pickle itself marks where it ends:
//!
//! ```text
//!   | pickle | ⟶16 | buffer | ⟶16 | buffer | … | ⟶16 | lengths: u64 each, the pickle's first | buffers: u32 | magic: u32 |
//! ```

use std::time::Instant;

use canele_engine::{Envelope, Matched, Want};
use canele_mem::buffer::{OutBuffer, Raw};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyByteArray, PyDict, PyList, PyMemoryView, PySlice};

use crate::buffer::Buffer;
use crate::context::{Context, Lent};
use crate::errors::{raise, raise_text};
use crate::sending::{self, Begun};
use crate::status::Status;
use crate::wait;

const MAGIC: u32 = u32::from_le_bytes(*b"cpy1");
const TRAILER: usize = 8;
/// Alignment of buffers in a message. In memory with this alignment they are aligned for numbers of any type.
const ALIGNMENT: usize = 16;
/// Largest length in bytes of a message that is copied together and received at once.
const SMALL: usize = 4096;

/// An object as the parts of a message.
pub struct Frame {
    /// The pickle, and the large buffers beside it.
    buffers: Vec<Buffer>,
    /// Zeroes that fill the gap up to the next buffer.
    filling: [u8; ALIGNMENT],
    /// The lengths and the trailer at the end of the message.
    end: Vec<u8>,
}

impl Frame {
    /// Pickles an object.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        static DUMPS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = object.py();
        let import = || Ok::<_, PyErr>(py.import("pickle")?.getattr("dumps")?.unbind());
        let dumps = DUMPS.get_or_try_init(py, import)?.bind(py);
        let (beside, options) = (PyList::empty(py), PyDict::new(py));
        options.set_item(pyo3::intern!(py, "protocol"), 5)?;
        options
            .set_item(pyo3::intern!(py, "buffer_callback"), beside.getattr(pyo3::intern!(py, "append"))?)?;
        let pickle = dumps.call((object,), Some(&options))?;
        let mut buffers = Vec::with_capacity(1 + beside.len());
        buffers.push(Buffer::of(&pickle)?);
        for buffer in &beside {
            buffers.push(Buffer::of(&buffer)?);
        }
        let mut end = Vec::with_capacity(buffers.len() * size_of::<u64>() + TRAILER);
        buffers.iter().for_each(|buffer| end.extend((buffer.len() as u64).to_le_bytes()));
        end.extend((buffers.len() as u32 - 1).to_le_bytes());
        end.extend(MAGIC.to_le_bytes());
        Ok(Self { buffers, filling: [0; ALIGNMENT], end })
    }

    /// Calls `each` with each part of the message, in order.
    fn parts<'a>(&'a self, mut each: impl FnMut(&'a [u8])) {
        for buffer in &self.buffers {
            each(buffer.bytes());
            each(&self.filling[..buffer.len().next_multiple_of(ALIGNMENT) - buffer.len()]);
        }
        each(&self.end);
    }

    /// Returns the length of the message in bytes.
    pub fn len(&self) -> usize {
        let buffers = self.buffers.iter().map(|buffer| buffer.len().next_multiple_of(ALIGNMENT));
        buffers.sum::<usize>() + self.end.len()
    }

    /// Returns the message in one piece.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.len());
        self.parts(|part| bytes.extend_from_slice(part));
        bytes
    }

    /// Returns the parts as one message, and the frame, which must be kept until the operation has ended.
    fn lend(self: Box<Self>) -> (OutBuffer, Box<Self>) {
        let mut list = Vec::with_capacity(2 * self.buffers.len() + 1);
        self.parts(|part| {
            // SAFETY: the parts lie in this box and in its buffers, which are kept until the operation has ended.
            let raw = unsafe { Raw::new(part.as_ptr(), 0, part.len().cast_signed()) };
            list.push((raw, part.len()));
        });
        (Raw::lend_list(list), self)
    }
}

/// Begins to send an object on the flow of the envelope.
pub fn begin(
    py: Python<'_>,
    flow: &canele::Flow,
    envelope: Envelope,
    object: &Bound<'_, PyAny>,
) -> PyResult<Begun> {
    begin_frame(py, flow, envelope, Box::new(Frame::of(object)?))
}

/// Begins to send an object that is already pickled.
pub fn begin_frame(
    py: Python<'_>,
    flow: &canele::Flow,
    envelope: Envelope,
    frame: Box<Frame>,
) -> PyResult<Begun> {
    let (engine, id) = flow.on_lane();
    if frame.len() <= SMALL
        && let Some(begun) = sending::post(py, engine, flow, envelope, &frame.to_bytes())?
    {
        return Ok(begun);
    }
    let (buffer, frame) = frame.lend();
    let Envelope { to, tag, mode, .. } = envelope;
    let pending = engine.isend(to, id, tag, mode, buffer).map_err(|refused| raise(py, refused.0))?;
    Ok(Begun::UnderWay(pending, Lent::of_frame(flow, frame)))
}

/// Memory for a short message of any length up to [`SMALL`].
struct Short(Vec<u8>);

impl canele_engine::Room for Short {
    fn room(&mut self, len: usize) -> Option<&mut [u8]> {
        (len <= SMALL).then(|| {
            self.0.resize(len, 0);
            &mut self.0[..]
        })
    }
}

/// A received message with an object that is not loaded yet.
pub struct ObjectMessage<'py> {
    frame: Bound<'py, PyAny>,
    status: canele::Status,
}

impl<'py> ObjectMessage<'py> {
    /// Loads the object.
    pub fn load(&self) -> PyResult<Bound<'py, PyAny>> {
        load(&self.frame, self.status)
    }
}

/// Receives an object.
pub fn recv<'py>(
    py: Python<'py>,
    context: &Context,
    flow: &canele::Flow,
    want: Want,
    deadline: Option<Instant>,
) -> PyResult<Bound<'py, PyAny>> {
    recv_message(py, context, flow, want, deadline)?.load()
}

/// Receives the message of an object.
pub fn recv_message<'py>(
    py: Python<'py>,
    context: &Context,
    flow: &canele::Flow,
    want: Want,
    deadline: Option<Instant>,
) -> PyResult<ObjectMessage<'py>> {
    let mut short = Short(Vec::new());
    let (engine, id) = flow.on_lane();
    let seen = engine.try_recv(id, want, &mut short).map_err(|error| raise(py, error))?;
    if let Some(status) = seen {
        return Ok(ObjectMessage { frame: PyByteArray::new(py, &short.0).into_any(), status });
    }
    let matched = wait::mprobe(py, context, flow, want, deadline)?;
    let status = matched.status;
    Ok(ObjectMessage { frame: recv_matched(py, context, flow, matched)?, status })
}

/// Receives a message that a probe has taken into a new bytearray.
pub fn recv_matched<'py>(
    py: Python<'py>,
    context: &Context,
    flow: &canele::Flow,
    matched: Matched,
) -> PyResult<Bound<'py, PyAny>> {
    let bytes = new_bytearray(py, matched.status.bytes)?;
    wait::recv_matched(py, context, flow, matched, Buffer::to_fill(&bytes)?)?;
    Ok(bytes)
}

/// Returns a bytearray of `len` bytes, all of which are about to be filled.
pub fn new_bytearray(py: Python<'_>, len: usize) -> PyResult<Bound<'_, PyAny>> {
    let len = len.cast_signed();
    // SAFETY: the interpreter's lock is held; without a source the new object has so many bytes of any value, which Python allows.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyByteArray_FromStringAndSize(std::ptr::null(), len)) }
}

/// Loads the object of a message. The object may go on using the memory of the message.
pub fn load<'py>(frame: &Bound<'py, PyAny>, status: impl Into<Status>) -> PyResult<Bound<'py, PyAny>> {
    static LOADS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = frame.py();
    let import = || Ok::<_, PyErr>(py.import("pickle")?.getattr("loads")?.unbind());
    let loads = LOADS.get_or_try_init(py, import)?.bind(py);
    let lengths = lengths_of(Buffer::of(frame)?.bytes());
    let Some(lengths) = lengths else {
        let status: Status = status.into();
        let text = format!(
            "the message {} is no object: receive it with recv, recv_bytes or irecv",
            status.describe()
        );
        return Err(raise_text(py, "Error", text));
    };
    if lengths.len() == 1 {
        return loads.call1((frame,));
    }
    let view = PyMemoryView::from(frame)?;
    let mut at = lengths[0].next_multiple_of(ALIGNMENT);
    let buffers = PyList::empty(py);
    for len in &lengths[1..] {
        buffers.append(view.get_item(PySlice::new(py, at.cast_signed(), (at + len).cast_signed(), 1))?)?;
        at += len.next_multiple_of(ALIGNMENT);
    }
    let options = PyDict::new(py);
    options.set_item(pyo3::intern!(py, "buffers"), buffers)?;
    loads.call((frame,), Some(&options))
}

/// Returns the lengths of the pickle and of the buffers of an object's message; none if the message has no
/// object.
fn lengths_of(bytes: &[u8]) -> Option<Vec<usize>> {
    let (rest, trailer) = bytes.split_at_checked(bytes.len().checked_sub(TRAILER)?)?;
    let word =
        |at: usize| u32::from_le_bytes([trailer[at], trailer[at + 1], trailer[at + 2], trailer[at + 3]]);
    if word(4) != MAGIC {
        return None;
    }
    let table = (word(0) as usize + 1).checked_mul(size_of::<u64>())?;
    let (data, table) = rest.split_at_checked(rest.len().checked_sub(table)?)?;
    let lengths = table
        .chunks_exact(size_of::<u64>())
        .map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()));
    let lengths = lengths.map(|len| usize::try_from(len).ok()).collect::<Option<Vec<_>>>()?;
    let padded = lengths
        .iter()
        .try_fold(0_usize, |sum, len| sum.checked_add(len.checked_next_multiple_of(ALIGNMENT)?))?;
    (padded == data.len()).then_some(lengths)
}
