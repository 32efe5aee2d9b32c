//! Small values: the sender, tag and length of messages, notices, and messages taken by probes.

use std::sync::{Arc, Mutex, PoisonError};

use canele::{Rank, Tag};
use canele_engine::Want;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::buffer::Buffer;
use crate::context::Context;
use crate::errors::raise_text;
use crate::members::Members;
use crate::{object, wait};

/// A rank as Python programs number it.
pub type RankNumber = u32;

/// In place of a source or a tag: any source or tag.
pub const ANY: i64 = -1;

/// The sender of a message, its tag, and its length in bytes.
#[pyclass(frozen, get_all, eq, module = "canele")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Status {
    /// The rank that sent the message. In the Status of a send it is the rank that receives it.
    source: RankNumber,
    /// The tag of the message.
    tag: u32,
    /// The length of the message in bytes.
    bytes: usize,
}

#[pymethods]
impl Status {
    fn __repr__(&self) -> String {
        format!("Status(source={}, tag={}, bytes={})", self.source, self.tag, self.bytes)
    }
}

impl Status {
    /// Returns the status in words, for use in a sentence.
    pub fn describe(&self) -> String {
        format!("of {} bytes from rank {} with tag {}", self.bytes, self.source, self.tag)
    }
}

impl From<canele::Status> for Status {
    fn from(status: canele::Status) -> Self {
        Self { source: status.source.0, tag: status.tag.0, bytes: status.bytes }
    }
}

/// A notice of a peer's put_notify(): the rank that put, and the identifier that it gave.
#[pyclass(frozen, get_all, eq, module = "canele")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Notice {
    /// The rank that put the data.
    source: RankNumber,
    /// The identifier that this rank gave.
    id: u64,
}

#[pymethods]
impl Notice {
    fn __repr__(&self) -> String {
        format!("Notice(source={}, id={})", self.source, self.id)
    }
}

impl From<canele::Notice> for Notice {
    fn from(notice: canele::Notice) -> Self {
        Self { source: notice.from.0, id: notice.id }
    }
}

/// A message that a matched probe has taken. Only a holder of this object can receive it, once. If the program does not receive the
/// message, it is lost with this object.
#[pyclass(frozen, module = "canele")]
pub struct Matched {
    context: Arc<Context>,
    flow: canele::Flow,
    members: Members,
    status: Status,
    matched: Mutex<Option<canele_engine::Matched>>,
}

impl Matched {
    pub fn new(
        context: Arc<Context>,
        (flow, members): (canele::Flow, Members),
        matched: canele_engine::Matched,
    ) -> Self {
        let status = members.status(matched.status);
        Self { context, flow, members, status, matched: Mutex::new(Some(matched)) }
    }

    fn take(&self, py: Python<'_>) -> PyResult<canele_engine::Matched> {
        let taken = self.matched.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.ok_or_else(|| {
            raise_text(
                py,
                "Error",
                "this message was received before: probe again for the next one".to_owned(),
            )
        })
    }
}

#[pymethods]
impl Matched {
    /// The sender of the message, its tag, and its length in bytes.
    #[getter]
    fn status(&self) -> Status {
        self.status
    }

    /// Receives the message into writable memory `data`, which may be longer than the message.
    ///
    /// Raises Truncated if the message is longer than `data`. Raises PeerFailed if its sender died.
    fn recv(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<Status> {
        let buffer = Buffer::to_fill(data)?;
        let matched = self.take(py)?;
        let status = wait::recv_matched(py, &self.context, &self.flow, matched, buffer)?;
        Ok(self.members.status(status))
    }

    /// Receives the message as a new bytearray of its length.
    fn recv_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let matched = self.take(py)?;
        object::recv_matched(py, &self.context, &self.flow, matched)
    }

    /// Receives the object that the message carries.
    ///
    /// Raises Error if the message was not sent as an object.
    fn recv_object<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let matched = self.take(py)?;
        let status = matched.status;
        let frame = object::recv_matched(py, &self.context, &self.flow, matched)?;
        object::load(&frame, status)
    }
}

impl Drop for Matched {
    fn drop(&mut self) {
        if let Some(matched) = self.matched.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            // A forked child has no messages.
            let _ = self.flow.on_lane().0.discard_matched(matched);
        }
    }
}

/// Returns the rank of a number; refuses negative and too large numbers.
pub fn rank(number: i64) -> PyResult<Rank> {
    let rank = u32::try_from(number).map(Rank);
    rank.map_err(|_| {
        PyValueError::new_err(format!("there is no rank {number}: ranks are numbered from 0 to size - 1"))
    })
}

/// Returns the tag of a number; refuses numbers that are no tags.
pub fn tag(number: i64) -> PyResult<Tag> {
    let tag = u32::try_from(number).map(Tag);
    tag.map_err(|_| {
        PyValueError::new_err(format!("{number} is no tag: tags are numbers from 0 to 2**32 - 1"))
    })
}

/// Returns the source and the tag that a receive matches.
pub fn want(source: i64, number: i64) -> PyResult<Want> {
    let source = if source == ANY { None } else { Some(rank(source)?) };
    let tag = if number == ANY { None } else { Some(tag(number)?) };
    Ok(Want { source, tag })
}
