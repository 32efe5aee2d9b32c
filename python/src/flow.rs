//! Flows: messages of memory and of objects.

use std::sync::{Arc, OnceLock};

use canele_engine::{Envelope, Mode};
use pyo3::prelude::*;

use crate::buffer::Buffer;
use crate::context::{Context, Lent};
use crate::errors::raise;
use crate::request::{Kind, Request};
use crate::status::{ANY, Matched, RankNumber, Status, rank, tag as sent_tag, want};
use crate::wait::{self, deadline, fail_if_in_vain, in_portions};
use crate::{object, sending, status};

/// An ordered stream of messages among all ranks; messages of one flow match no receive on another.
///
/// Between two ranks messages are matched in the order in which they were sent. `data` is any contiguous memory: bytes, bytearray,
/// memoryview, array.array, numpy.ndarray …; it is sent and received where it lies. Time-outs are in seconds, None waits for ever.
/// All calls that wait let other threads of Python run, and end with KeyboardInterrupt when Ctrl-C is pressed.
#[pyclass(frozen, module = "canele")]
pub struct Flow {
    pub context: Arc<Context>,
    pub flow: canele::Flow,
    /// For the messages of collectives of objects, once there was one.
    pub objects: OnceLock<canele::Flow>,
}

impl Flow {
    pub fn new(context: Arc<Context>, flow: canele::Flow) -> Self {
        Self { context, flow, objects: OnceLock::new() }
    }

    /// A message of this flow; with `coalesce` it may leave with others.
    fn envelope(&self, to: i64, tag: i64, mode: Mode, coalesce: bool) -> PyResult<Envelope> {
        Ok(Envelope { mode, coalesce, ..Envelope::new(rank(to)?, self.flow.on_lane().1, sent_tag(tag)?) })
    }

    fn send_in_mode(
        &self,
        py: Python<'_>,
        (to, tag, mode): (i64, i64, Mode),
        data: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let (envelope, deadline) = (self.envelope(to, tag, mode, false)?, deadline(timeout)?);
        sending::begin(py, &self.flow, envelope, Buffer::of(data)?)?.finish(py, &self.context, deadline)
    }

    fn isend_in_mode(
        &self,
        py: Python<'_>,
        (to, tag, mode): (i64, i64, Mode),
        data: &Bound<'_, PyAny>,
    ) -> PyResult<Request> {
        let envelope = self.envelope(to, tag, mode, true)?;
        let begun = sending::begin(py, &self.flow, envelope, Buffer::of(data)?)?;
        Ok(begun.into_request(&self.context))
    }
}

#[pymethods]
impl Flow {
    /// This process's number in the job, from 0 to size - 1.
    #[getter]
    fn rank(&self) -> RankNumber {
        self.flow.rank().0
    }

    /// How many ranks there are.
    #[getter]
    fn size(&self) -> u32 {
        self.flow.size()
    }

    fn __repr__(&self) -> String {
        format!(
            "<canele.Flow {} of rank {} of {}>",
            self.flow.on_lane().1.0,
            self.flow.rank().0,
            self.flow.size()
        )
    }

    /// Sends `data` to rank `to`. On return it may be changed; the message may still be on its way.
    ///
    /// Raises NoSuchRank, PeerFailed, PeerFinished; Deadline after `timeout` seconds: then nothing was sent.
    #[pyo3(signature = (to, tag, data, timeout=None))]
    fn send(
        &self,
        py: Python<'_>,
        to: i64,
        tag: i64,
        data: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        self.send_in_mode(py, (to, tag, Mode::Standard), data, timeout)
    }

    /// Sends `data` and returns once the receiver has begun to receive it.
    ///
    /// Raises what send() raises.
    #[pyo3(signature = (to, tag, data, timeout=None))]
    fn send_sync(
        &self,
        py: Python<'_>,
        to: i64,
        tag: i64,
        data: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        self.send_in_mode(py, (to, tag, Mode::Synchronous), data, timeout)
    }

    /// Receives the next message of `source` with `tag` into writable memory `data`, which may be longer: the Status says how long it was.
    ///
    /// Raises Truncated if the message is longer (it is lost, nothing else is harmed); NoSuchRank, PeerFailed, PeerFinished; from any
    /// source NoSenderLeft when no rank is left that could send; Deadline after `timeout` seconds: the message, should it come, is still there.
    #[pyo3(signature = (source, tag, data, timeout=None))]
    fn recv(
        &self,
        py: Python<'_>,
        source: i64,
        tag: i64,
        data: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<Status> {
        let (want, buffer) = (want(source, tag)?, Buffer::to_fill(data)?);
        wait::recv(py, &self.context, &self.flow, want, buffer, deadline(timeout)?).map(Status::from)
    }

    /// Receives the next message of `source` with `tag` as a new bytearray of its length.
    #[pyo3(signature = (source=ANY, tag=ANY, timeout=None))]
    fn recv_bytes<'py>(
        &self,
        py: Python<'py>,
        source: i64,
        tag: i64,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let matched = wait::mprobe(py, &self.context, &self.flow, want(source, tag)?, deadline(timeout)?)?;
        object::recv_matched(py, &self.context, &self.flow, matched)
    }

    /// Starts to send `data`, which must not be changed until the request has ended.
    fn isend(&self, py: Python<'_>, to: i64, tag: i64, data: &Bound<'_, PyAny>) -> PyResult<Request> {
        self.isend_in_mode(py, (to, tag, Mode::Standard), data)
    }

    /// Starts to send `data`; the request ends once the receiver has begun to receive it.
    fn isend_sync(&self, py: Python<'_>, to: i64, tag: i64, data: &Bound<'_, PyAny>) -> PyResult<Request> {
        self.isend_in_mode(py, (to, tag, Mode::Synchronous), data)
    }

    /// Starts to receive into writable memory `data`, which must not be touched until the request has ended.
    fn irecv(&self, py: Python<'_>, source: i64, tag: i64, data: &Bound<'_, PyAny>) -> PyResult<Request> {
        let (want, mut buffer) = (want(source, tag)?, Buffer::to_fill(data)?);
        let len = buffer.len();
        let (engine, flow) = self.flow.on_lane();
        let pending = engine.irecv(flow, want, buffer.raw_mut().lend_mut(0, len));
        let pending = pending.map_err(|refused| raise(py, refused.0))?;
        let kind = if want.source.is_none() { Kind::ReceiveFromAny } else { Kind::Receive };
        Ok(Request::under_way(&self.context, kind, pending, Lent::new(&self.flow, [buffer])))
    }

    /// Waits for a message of `source` with `tag` and returns its Status; the message stays.
    #[pyo3(signature = (source=ANY, tag=ANY, timeout=None))]
    fn probe(&self, py: Python<'_>, source: i64, tag: i64, timeout: Option<f64>) -> PyResult<Status> {
        let (want, (engine, flow)) = (want(source, tag)?, self.flow.on_lane());
        let from_any = want.source.is_none();
        let attempt = |end| engine.probe(flow, want, Some(end));
        in_portions(py, deadline(timeout)?, attempt, |py| fail_if_in_vain(py, &self.context, from_any))
            .map(Status::from)
    }

    /// The Status of a message that a receive would get now, or None.
    #[pyo3(signature = (source=ANY, tag=ANY))]
    fn iprobe(&self, py: Python<'_>, source: i64, tag: i64) -> PyResult<Option<Status>> {
        let (engine, flow) = self.flow.on_lane();
        let found = engine.iprobe(flow, want(source, tag)?);
        Ok(found.map_err(|error| raise(py, error))?.map(Status::from))
    }

    /// Waits for a message and takes it, so that no other thread's receive can get it.
    #[pyo3(signature = (source=ANY, tag=ANY, timeout=None))]
    fn mprobe(&self, py: Python<'_>, source: i64, tag: i64, timeout: Option<f64>) -> PyResult<Matched> {
        let matched = wait::mprobe(py, &self.context, &self.flow, want(source, tag)?, deadline(timeout)?)?;
        Ok(Matched::new(self.context.clone(), self.flow.clone(), matched))
    }

    /// Takes a message that a receive would get now, or returns None.
    #[pyo3(signature = (source=ANY, tag=ANY))]
    fn improbe(&self, py: Python<'_>, source: i64, tag: i64) -> PyResult<Option<Matched>> {
        let (engine, flow) = self.flow.on_lane();
        let found = engine.improbe(flow, want(source, tag)?);
        let found = found.map_err(|error| raise(py, error))?;
        Ok(found.map(|matched| Matched::new(self.context.clone(), self.flow.clone(), matched)))
    }

    /// Sends any picklable object. Its arrays are sent where they lie (pickle protocol 5, out of band).
    ///
    /// Raises what send() raises, and what pickling raises: then nothing was sent.
    #[pyo3(signature = (to, tag, obj, timeout=None))]
    fn send_object(
        &self,
        py: Python<'_>,
        to: i64,
        tag: i64,
        obj: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let (envelope, deadline) = (self.envelope(to, tag, Mode::Standard, false)?, deadline(timeout)?);
        object::begin(py, &self.flow, envelope, obj)?.finish(py, &self.context, deadline)
    }

    /// Starts to send any picklable object. Its arrays must not be changed until the request has ended.
    fn isend_object(&self, py: Python<'_>, to: i64, tag: i64, obj: &Bound<'_, PyAny>) -> PyResult<Request> {
        let envelope = self.envelope(to, tag, Mode::Standard, false)?;
        Ok(object::begin(py, &self.flow, envelope, obj)?.into_request(&self.context))
    }

    /// Receives the next object of `source` with `tag`. Its arrays are writable, and lie in one piece of memory that was allocated once.
    ///
    /// Unpickling runs code that the sender chooses: all ranks of a job trust each other. Raises what recv() raises, and Error if the
    /// message was not sent as an object (it is lost).
    #[pyo3(signature = (source=ANY, tag=ANY, timeout=None))]
    fn recv_object<'py>(
        &self,
        py: Python<'py>,
        source: i64,
        tag: i64,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        object::recv(py, &self.context, &self.flow, want(source, tag)?, deadline(timeout)?)
    }

    /// How urgent this rank's messages on this flow are from now on, from 0 to 7, where messages wait and the strategy heeds it.
    fn set_priority(&self, py: Python<'_>, level: u8) -> PyResult<()> {
        self.flow.set_priority(level).map_err(|error| raise(py, error))
    }

    /// Which rail takes this rank's messages to other hosts while it has room; rails are numbered from 1.
    fn prefer_rail(&self, py: Python<'_>, rail: u8) -> PyResult<()> {
        self.flow.prefer_rail(rail).map_err(|error| raise(py, error))
    }

    /// Which rail alone takes this rank's messages to other hosts.
    fn require_rail(&self, py: Python<'_>, rail: u8) -> PyResult<()> {
        self.flow.require_rail(rail).map_err(|error| raise(py, error))
    }

    /// A new flow of the same ranks. All ranks call it, in the same order among their collectives. With a `lane` it lies on the lane of that number:
    /// threads that use flows on different lanes do not wait for each other. Lanes are counted from 0, that of the world, and beyond those that
    /// a rank may have from the first again. Otherwise it lies where this one does.
    #[pyo3(signature = (lane = None))]
    fn duplicate(&self, py: Python<'_>, lane: Option<u32>) -> PyResult<Flow> {
        let make = || match lane {
            Some(lane) => self.flow.duplicate_on_lane(lane),
            None => self.flow.duplicate(),
        };
        let flow = py.detach(make).map_err(|error| raise(py, error))?;
        Ok(Flow::new(self.context.clone(), flow))
    }
}

/// For other files of this class.
pub fn root(number: i64, flow: &canele::Flow, py: Python<'_>) -> PyResult<canele::Rank> {
    let (root, size) = (status::rank(number)?, flow.size());
    if root.0 < size { Ok(root) } else { Err(raise(py, canele::Error::NoSuchRank { rank: root, size })) }
}
