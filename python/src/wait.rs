//! Waiting without the interpreter's lock, in portions. Signals are checked between two portions, so that
//! Ctrl-C works.
//!
//! Owns the length of a portion. A wait that is interrupted withdraws its operation, or leaves its memory to
//! the context.

use std::time::{Duration, Instant};

use canele::{Error, Failure, Status};
use canele_engine::{Completion, Matched, Pending, Want};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::buffer::Buffer;
use crate::context::{Context, Lent};
use crate::errors::raise;

/// Longest time between two checks for signals.
const PORTION: Duration = Duration::from_millis(50);

/// Returns the moment at which a wait of `timeout` seconds ends; none for a wait without limit.
pub fn deadline(timeout: Option<f64>) -> PyResult<Option<Instant>> {
    let Some(seconds) = timeout else { return Ok(None) };
    match Duration::try_from_secs_f64(seconds) {
        Ok(wait) => Ok(Instant::now().checked_add(wait)),
        Err(_) if seconds == f64::INFINITY => Ok(None),
        Err(_) => Err(PyValueError::new_err(format!(
            "a time-out of {seconds} seconds makes no sense: give seconds from 0 on, or None to wait for ever"
        ))),
    }
}

/// Calls `attempt` with the end of a portion. Returns none if the portion has passed; then signals were
/// checked.
pub fn portion<T: Send>(
    py: Python<'_>,
    deadline: Option<Instant>,
    attempt: impl FnOnce(Instant) -> Result<T, Error> + Send,
) -> PyResult<Option<T>> {
    let portion = Instant::now() + PORTION;
    let end = deadline.map_or(portion, |at| at.min(portion));
    match py.detach(|| attempt(end)) {
        Err(Error::Deadline(what)) => {
            py.check_signals()?;
            match deadline.is_some_and(|at| Instant::now() >= at) {
                true => Err(raise(py, Error::Deadline(what))),
                false => Ok(None),
            }
        }
        result => result.map(Some).map_err(|error| raise(py, error)),
    }
}

/// Calls `attempt` with the end of each portion until it returns something other than a passed deadline.
pub fn in_portions<T: Send>(
    py: Python<'_>,
    deadline: Option<Instant>,
    mut attempt: impl FnMut(Instant) -> Result<T, Error> + Send,
    mut between: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    loop {
        if let Some(value) = portion(py, deadline, &mut attempt)? {
            return Ok(value);
        }
        between(py)?;
    }
}

/// Waits for the end of an operation. After an error the operation is still under way.
pub fn end_of(
    py: Python<'_>,
    context: &Context,
    pending: Pending,
    from_any: bool,
    deadline: Option<Instant>,
) -> PyResult<Completion> {
    let engine = &*context.engine;
    in_portions(
        py,
        deadline,
        |end| engine.wait(pending, Some(end)),
        |py| fail_if_in_vain(py, context, from_any),
    )
}

/// Raises NoSenderLeft if the caller waits for a message from any rank, and no rank or thread is left that
/// could send one.
pub fn fail_if_in_vain(py: Python<'_>, context: &Context, from_any: bool) -> PyResult<()> {
    match from_any && context.engine.is_no_sender_left().map_err(|error| raise(py, error))? {
        true => Err(raise(py, Failure::NoSenderLeft.into())),
        false => Ok(()),
    }
}

/// Waits for an operation that owns `lent`. If the wait ends first, the operation is withdrawn, or goes on
/// without a waiting thread.
pub fn finish(
    py: Python<'_>,
    context: &Context,
    pending: Pending,
    lent: Lent,
    from_any: bool,
    deadline: Option<Instant>,
) -> PyResult<Status> {
    match end_of(py, context, pending, from_any, deadline) {
        Ok(ended) => ended.result.map_err(|error| raise(py, error)),
        Err(error) => {
            context.leave(pending, lent, true);
            Err(error)
        }
    }
}

/// Receives a message into a buffer. A message that has arrived is taken without releasing the interpreter's
/// lock, which would cost more.
pub fn recv(
    py: Python<'_>,
    context: &Context,
    flow: &canele::Flow,
    want: Want,
    mut buffer: Buffer,
    deadline: Option<Instant>,
) -> PyResult<Status> {
    let (engine, id) = flow.on_lane();
    let seen = engine.try_recv(id, want, buffer.bytes_mut()).map_err(|error| raise(py, error))?;
    if let Some(status) = seen {
        return Ok(status);
    }
    let len = buffer.len();
    let pending = engine.irecv(id, want, buffer.raw_mut().lend_mut(0, len));
    let pending = pending.map_err(|refused| raise(py, refused.0))?;
    let lent = Lent::new(flow, [buffer]);
    finish(py, context, pending, lent, want.source.is_none(), deadline)
}

/// Waits for a message and takes it out of matching.
pub fn mprobe(
    py: Python<'_>,
    context: &Context,
    flow: &canele::Flow,
    want: Want,
    deadline: Option<Instant>,
) -> PyResult<Matched> {
    let ((engine, id), from_any) = (flow.on_lane(), want.source.is_none());
    if let Some(matched) = engine.improbe(id, want).map_err(|error| raise(py, error))? {
        return Ok(matched);
    }
    let attempt = |end| engine.mprobe(id, want, Some(end));
    in_portions(py, deadline, attempt, |py| fail_if_in_vain(py, context, from_any))
}

/// Receives a message that a probe has taken.
pub fn recv_matched(
    py: Python<'_>,
    context: &Context,
    flow: &canele::Flow,
    matched: Matched,
    mut buffer: Buffer,
) -> PyResult<Status> {
    let len = buffer.len();
    let (engine, _) = flow.on_lane();
    let pending = engine.irecv_matched(matched, buffer.raw_mut().lend_mut(0, len));
    let pending = pending.map_err(|refused| raise(py, refused.0))?;
    let lent = Lent::new(flow, [buffer]);
    if let Some(ended) = engine.test(pending).map_err(|error| raise(py, error))? {
        return ended.result.map_err(|error| raise(py, error));
    }
    finish(py, context, pending, lent, false, None)
}
