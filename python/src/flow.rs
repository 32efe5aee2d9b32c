//! Flows: messages of memory and of objects.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use canele_engine::{Envelope, Mode, Pending, Want};
use pyo3::prelude::*;

use crate::buffer::Buffer;
use crate::context::{Context, Lent};
use crate::errors::raise;
use crate::members::Members;
use crate::object_collectives::ObjectFlow;
use crate::request::{Kind, Request};
use crate::status::{ANY, Matched, RankNumber, Status, tag as sent_tag};
use crate::wait::{self, deadline, fail_if_in_vain, in_portions};
use crate::{object, sending, status};

/// An ordered stream of messages among its ranks. A message of one flow matches no receive of another flow.
///
/// Messages between two ranks match receives in the order in which they were sent. `data` is any contiguous memory: bytes, bytearray,
/// memoryview, array.array, numpy.ndarray …; the module sends and receives it where it lies. Time-outs are in seconds; None waits without a
/// limit. While a call waits, other threads of Python run, and Ctrl-C ends the call with KeyboardInterrupt.
#[pyclass(frozen, module = "canele")]
pub struct Flow {
    pub context: Arc<Context>,
    pub flow: canele::Flow,
    pub members: Members,
    /// The flow for the messages of collectives of objects, made by the first of them.
    pub objects: OnceLock<ObjectFlow>,
}

impl Flow {
    /// Makes a flow of all ranks of the job.
    pub fn new(context: Arc<Context>, flow: canele::Flow) -> Self {
        Self::of_members(context, flow, Members::default())
    }

    pub fn of_members(context: Arc<Context>, flow: canele::Flow, members: Members) -> Self {
        Self { context, flow, members, objects: OnceLock::new() }
    }

    /// Returns the number of this process on the flow.
    pub fn me(&self) -> canele::Rank {
        self.members.me(&self.flow)
    }

    /// Returns the number of ranks of the flow.
    pub fn ranks(&self) -> u32 {
        self.members.size(&self.flow)
    }

    /// Returns the envelope of a message on this flow. With `coalesce` the message may leave in a packet with
    /// others.
    pub fn envelope(
        &self,
        py: Python<'_>,
        (to, tag): (i64, i64),
        mode: Mode,
        coalesce: bool,
    ) -> PyResult<Envelope> {
        let to = self.members.rank(py, to)?;
        Ok(Envelope { mode, coalesce, ..Envelope::new(to, self.flow.on_lane().1, sent_tag(tag)?) })
    }

    fn matched(&self, matched: canele_engine::Matched) -> Matched {
        Matched::new(self.context.clone(), (self.flow.clone(), self.members.clone()), matched)
    }

    fn send_in_mode(
        &self,
        py: Python<'_>,
        (to, tag, mode): (i64, i64, Mode),
        data: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let (envelope, deadline) = (self.envelope(py, (to, tag), mode, false)?, deadline(timeout)?);
        sending::begin(py, &self.flow, envelope, Buffer::of(data)?)?.finish(py, &self.context, deadline)
    }

    fn isend_in_mode(
        &self,
        py: Python<'_>,
        (to, tag, mode): (i64, i64, Mode),
        data: &Bound<'_, PyAny>,
    ) -> PyResult<Request> {
        let envelope = self.envelope(py, (to, tag), mode, true)?;
        let begun = sending::begin(py, &self.flow, envelope, Buffer::of(data)?)?;
        Ok(begun.into_request(&self.context, &self.members))
    }
}

#[pymethods]
impl Flow {
    /// The number of this process among the ranks of the flow, from 0 to size - 1. On the world it is the rank in the job.
    #[getter]
    fn rank(&self) -> RankNumber {
        self.me().0
    }

    /// The number of ranks of the flow.
    #[getter]
    fn size(&self) -> u32 {
        self.ranks()
    }

    fn __repr__(&self) -> String {
        format!("<canele.Flow {} of rank {} of {}>", self.flow.on_lane().1.0, self.me().0, self.ranks())
    }

    /// Sends `data` to rank `to`. The caller may change `data` after the return, but the message may still be
    /// under way.
    ///
    /// Raises NoSuchRank, PeerFailed and PeerFinished. Raises Deadline after `timeout` seconds; then nothing
    /// was sent.
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

    /// Sends `data`, and returns once the receiver has begun to receive it.
    ///
    /// Raises the errors of send().
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

    /// Receives the next message of `source` with `tag` into writable memory `data`, which may be longer than the message. The returned
    /// Status has the length of the message.
    ///
    /// Raises Truncated if the message is longer than `data`; only this message is lost. Raises NoSuchRank, PeerFailed and PeerFinished. A
    /// receive from any source raises NoSenderLeft if no rank is left that could send. Raises Deadline after `timeout` seconds; a message
    /// that arrives later can still be received.
    #[pyo3(signature = (source, tag, data, timeout=None))]
    fn recv(
        &self,
        py: Python<'_>,
        source: i64,
        tag: i64,
        data: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<Status> {
        let (want, buffer) = (self.members.want(py, source, tag)?, Buffer::to_fill(data)?);
        wait::recv(py, &self.context, &self.flow, want, buffer, deadline(timeout)?)
            .map(|status| self.members.status(status))
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
        let matched = wait::mprobe(
            py,
            &self.context,
            &self.flow,
            self.members.want(py, source, tag)?,
            deadline(timeout)?,
        )?;
        object::recv_matched(py, &self.context, &self.flow, matched)
    }

    /// Starts to send `data`. The program must not change `data` until the request has ended.
    pub fn isend(&self, py: Python<'_>, to: i64, tag: i64, data: &Bound<'_, PyAny>) -> PyResult<Request> {
        self.isend_in_mode(py, (to, tag, Mode::Standard), data)
    }

    /// Starts to send `data`. The request ends once the receiver has begun to receive it.
    fn isend_sync(&self, py: Python<'_>, to: i64, tag: i64, data: &Bound<'_, PyAny>) -> PyResult<Request> {
        self.isend_in_mode(py, (to, tag, Mode::Synchronous), data)
    }

    /// Starts to receive into writable memory `data`. The program must not touch `data` until the request has ended.
    pub fn irecv(&self, py: Python<'_>, source: i64, tag: i64, data: &Bound<'_, PyAny>) -> PyResult<Request> {
        let want = self.members.want(py, source, tag)?;
        let (pending, lent) = self.start_receive(py, want, Buffer::to_fill(data)?)?;
        Ok(Request::under_way(&self.context, Kind::of_receive(want), pending, lent).on(&self.members))
    }

    /// Waits for a message of `source` with `tag` and returns its Status. The message can still be received.
    #[pyo3(signature = (source=ANY, tag=ANY, timeout=None))]
    fn probe(&self, py: Python<'_>, source: i64, tag: i64, timeout: Option<f64>) -> PyResult<Status> {
        let (want, (engine, flow)) = (self.members.want(py, source, tag)?, self.flow.on_lane());
        let from_any = want.source.is_none();
        let attempt = |end| engine.probe(flow, want, Some(end));
        in_portions(py, deadline(timeout)?, attempt, |py| fail_if_in_vain(py, &self.context, from_any))
            .map(|status| self.members.status(status))
    }

    /// Returns the Status of the message that a receive would get now, or None.
    #[pyo3(signature = (source=ANY, tag=ANY))]
    fn iprobe(&self, py: Python<'_>, source: i64, tag: i64) -> PyResult<Option<Status>> {
        let (engine, flow) = self.flow.on_lane();
        let found = engine.iprobe(flow, self.members.want(py, source, tag)?);
        Ok(found.map_err(|error| raise(py, error))?.map(|status| self.members.status(status)))
    }

    /// Waits for a message and takes it, so that no receive of another thread can get it.
    #[pyo3(signature = (source=ANY, tag=ANY, timeout=None))]
    fn mprobe(&self, py: Python<'_>, source: i64, tag: i64, timeout: Option<f64>) -> PyResult<Matched> {
        let matched = wait::mprobe(
            py,
            &self.context,
            &self.flow,
            self.members.want(py, source, tag)?,
            deadline(timeout)?,
        )?;
        Ok(self.matched(matched))
    }

    /// Takes the message that a receive would get now. Returns None if there is no such message.
    #[pyo3(signature = (source=ANY, tag=ANY))]
    fn improbe(&self, py: Python<'_>, source: i64, tag: i64) -> PyResult<Option<Matched>> {
        let (engine, flow) = self.flow.on_lane();
        let found = engine.improbe(flow, self.members.want(py, source, tag)?);
        let found = found.map_err(|error| raise(py, error))?;
        Ok(found.map(|matched| self.matched(matched)))
    }

    /// Sends any picklable object. Its arrays are sent where they lie (pickle protocol 5, out of band).
    ///
    /// Raises the errors of send() and of pickle. After an error of pickle nothing was sent.
    #[pyo3(signature = (to, tag, obj, timeout=None))]
    fn send_object(
        &self,
        py: Python<'_>,
        to: i64,
        tag: i64,
        obj: &Bound<'_, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<()> {
        let (envelope, deadline) = (self.envelope(py, (to, tag), Mode::Standard, false)?, deadline(timeout)?);
        object::begin(py, &self.flow, envelope, obj)?.finish(py, &self.context, deadline)
    }

    /// Starts to send any picklable object. The program must not change the arrays of the object until the request has ended.
    pub fn isend_object(
        &self,
        py: Python<'_>,
        to: i64,
        tag: i64,
        obj: &Bound<'_, PyAny>,
    ) -> PyResult<Request> {
        let envelope = self.envelope(py, (to, tag), Mode::Standard, false)?;
        Ok(object::begin(py, &self.flow, envelope, obj)?.into_request(&self.context, &self.members))
    }

    /// Receives the next object of `source` with `tag`. Its arrays are writable, and lie in one piece of memory that is allocated once.
    ///
    /// Unpickling runs code that the sender chooses: all ranks of a job trust each other. Raises the errors of recv(). Raises Error if the
    /// message was not sent as an object; the message is lost then.
    #[pyo3(signature = (source=ANY, tag=ANY, timeout=None))]
    fn recv_object<'py>(
        &self,
        py: Python<'py>,
        source: i64,
        tag: i64,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.recv_until(py, (source, tag), deadline(timeout)?)
    }

    /// Sets the priority of this rank's later messages on this flow, from 0 to 7, the most urgent. The
    /// priority matters while messages wait, if the strategy uses it.
    fn set_priority(&self, py: Python<'_>, level: u8) -> PyResult<()> {
        self.flow.set_priority(level).map_err(|error| raise(py, error))
    }

    /// Sets the rail that takes this rank's messages to other hosts while it has room. Rails are numbered
    /// from 1.
    fn prefer_rail(&self, py: Python<'_>, rail: u8) -> PyResult<()> {
        self.flow.prefer_rail(rail).map_err(|error| raise(py, error))
    }

    /// Sets the only rail that takes this rank's messages to other hosts.
    fn require_rail(&self, py: Python<'_>, rail: u8) -> PyResult<()> {
        self.flow.require_rail(rail).map_err(|error| raise(py, error))
    }
}

impl Flow {
    /// Receives an object; waits until a moment at most.
    pub fn recv_until<'py>(
        &self,
        py: Python<'py>,
        (source, tag): (i64, i64),
        deadline: Option<Instant>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let want = self.members.want(py, source, tag)?;
        object::recv(py, &self.context, &self.flow, want, deadline)
    }

    /// Starts a receive into the memory of a Python object.
    pub fn start_receive(&self, py: Python<'_>, want: Want, mut buffer: Buffer) -> PyResult<(Pending, Lent)> {
        let len = buffer.len();
        let (engine, flow) = self.flow.on_lane();
        let pending = engine.irecv(flow, want, buffer.raw_mut().lend_mut(0, len));
        let pending = pending.map_err(|refused| raise(py, refused.0))?;
        Ok((pending, Lent::new(&self.flow, [buffer])))
    }

    /// Returns the root of a collective, given by its number on this flow.
    pub fn root(&self, py: Python<'_>, number: i64) -> PyResult<canele::Rank> {
        let (root, size) = (status::rank(number)?, self.ranks());
        if root.0 < size { Ok(root) } else { Err(raise(py, canele::Error::NoSuchRank { rank: root, size })) }
    }
}
