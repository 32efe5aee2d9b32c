//! Operations under way as objects: tested, waited for, awaited.
//!
//! Owns what is lent to the operation until it has ended. No lock of this module is held while the interpreter's is given away.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::time::Instant;

use canele_engine::{Completion, Pending};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::context::{Context, Lent};
use crate::errors::raise;
use crate::status::Status;
use crate::wait::{deadline, fail_if_in_vain, portion};

/// An operation under way: `test()` it, `wait()` for it, or `await` it.
///
/// The memory that was given to it must not be changed (of a send) or touched (of a receive) until it has ended. A request that is
/// dropped goes on if it is a send; a receive without a message is withdrawn.
#[pyclass(frozen, weakref, module = "canele")]
pub struct Request {
    context: Arc<Context>,
    kind: Kind,
    state: Mutex<State>,
    /// Of the event loops whose tasks await it.
    bells: Arc<Bells>,
}

/// What its end and its being dropped mean.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Send,
    Receive,
    ReceiveFromAny,
    Collective,
}

enum State {
    UnderWay(Pending, Lent),
    Ended(Result<Option<Status>, PyErr>),
}

impl Request {
    /// An operation that reads or writes `lent`.
    pub fn under_way(context: &Arc<Context>, kind: Kind, pending: Pending, lent: Lent) -> Self {
        Self::new(context, kind, State::UnderWay(pending, lent))
    }

    /// One that has ended at once.
    pub fn ended(context: &Arc<Context>, kind: Kind, status: Option<Status>) -> Self {
        Self::new(context, kind, State::Ended(Ok(status)))
    }

    fn new(context: &Arc<Context>, kind: Kind, state: State) -> Self {
        Self { context: context.clone(), kind, state: Mutex::new(state), bells: Arc::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change replaces the state as a whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pending(&self) -> Option<Pending> {
        match *self.state() {
            State::UnderWay(pending, _) => Some(pending),
            State::Ended(_) => None,
        }
    }

    fn settle(&self, py: Python<'_>, ended: Completion) {
        let status = match self.kind {
            Kind::Collective => ended.result.map(|_| None),
            _ => ended.result.map(|status| Some(status.into())),
        };
        let state = State::Ended(status.map_err(|error| raise(py, error)));
        let before = std::mem::replace(&mut *self.state(), state);
        // Objects that are let go may run code of the program, which may ask this request.
        drop(before);
        // A thread that asked the engine between its end and this was told that it is under way.
        self.bells.wake_by_ref();
    }

    fn result(&self, py: Python<'_>) -> PyResult<Option<Status>> {
        match &*self.state() {
            State::Ended(Ok(status)) => Ok(*status),
            State::Ended(Err(error)) => Err(error.clone_ref(py)),
            State::UnderWay(..) => unreachable!("asked after its end"),
        }
    }

    fn block(&self, py: Python<'_>, deadline: Option<Instant>) -> PyResult<()> {
        let engine = &*self.context.engine;
        while let Some(pending) = self.pending() {
            if let Some(ended) = portion(py, deadline, |end| engine.wait(pending, Some(end)))? {
                self.settle(py, ended);
            } else if self.pending().is_some() {
                fail_if_in_vain(py, &self.context, self.kind == Kind::ReceiveFromAny)?;
            }
        }
        Ok(())
    }
}

#[pymethods]
impl Request {
    /// True if it has ended; makes progress if not. Never waits.
    fn test(&self, py: Python<'_>) -> PyResult<bool> {
        let Some(pending) = self.pending() else { return Ok(true) };
        match self.context.engine.test(pending).map_err(|error| raise(py, error))? {
            Some(ended) => self.settle(py, ended),
            None => {
                py.check_signals()?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits for its end and returns the Status of a message, None of a collective.
    ///
    /// `timeout` is in seconds; None waits for ever. Raises Deadline when it has passed: the operation is still under way. Raises why
    /// the operation failed.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<Status>> {
        self.block(py, deadline(timeout)?)?;
        self.result(py)
    }

    /// Withdraws it if it is not too late; returns whether it was. Waiting for it raises Cancelled then.
    ///
    /// A long send that is announced is asked back: waiting for it tells, once its receiver communicates.
    fn cancel(&self, py: Python<'_>) -> PyResult<bool> {
        match self.pending() {
            Some(pending) => self.context.engine.cancel(pending).map_err(|error| raise(py, error)),
            None => Ok(false),
        }
    }

    /// Lets a task of asyncio wait for it; the result is that of wait().
    fn __await__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        static WAIT_FOR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = slf.py();
        let import = || Ok::<_, PyErr>(py.import("canele._await")?.getattr("wait_for")?.unbind());
        WAIT_FOR.get_or_try_init(py, import)?.bind(py).call1((slf,))?.call_method0("__await__")
    }

    /// True if it has ended. If not, `bell` rings once it may have.
    fn _test_or_notify(&self, py: Python<'_>, bell: &Bell) -> PyResult<bool> {
        let Some(pending) = self.pending() else { return Ok(true) };
        let engine = &self.context.engine;
        engine.start_serving();
        // The engine knows one waker for each request.
        self.bells.add(&bell.waker);
        match engine.test_or_notify(pending, &self.bells.clone().into()).map_err(|error| raise(py, error))? {
            Some(ended) => self.settle(py, ended),
            None => return Ok(false),
        }
        Ok(true)
    }

    fn __repr__(&self) -> String {
        let what = match self.kind {
            Kind::Send => "send",
            Kind::Receive | Kind::ReceiveFromAny => "receive",
            Kind::Collective => "collective",
        };
        let state = if self.pending().is_some() { "under way" } else { "ended" };
        format!("<canele.Request: {what}, {state}>")
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let State::UnderWay(pending, lent) = std::mem::replace(state, State::Ended(Ok(None))) {
            let is_receive = matches!(self.kind, Kind::Receive | Kind::ReceiveFromAny);
            self.context.leave(pending, lent, is_receive);
        }
    }
}

/// A descriptor that becomes readable when a request may have ended; of one event loop.
#[pyclass(frozen, module = "canele._native")]
pub struct Bell {
    ringer: Arc<Ringer>,
    waker: Waker,
}

/// The bells of the event loops that a request has tasks in.
#[derive(Default)]
struct Bells(Mutex<Vec<Waker>>);

impl Bells {
    fn add(&self, waker: &Waker) {
        let mut wakers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !wakers.iter().any(|other| other.will_wake(waker)) {
            wakers.push(waker.clone());
        }
    }
}

impl Wake for Bells {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(Waker::wake_by_ref);
    }
}

/// Its descriptor, which requests keep open.
struct Ringer(OwnedFd);

impl Wake for Ringer {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // It is full only if it was not read for 2⁶⁴ wakes: then it is readable anyway.
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

#[pymethods]
impl Bell {
    #[new]
    fn new() -> PyResult<Self> {
        use rustix::event::{EventfdFlags, eventfd};
        let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let fd = fd.map_err(|errno| {
            PyOSError::new_err((errno.raw_os_error(), "no descriptor for awaited requests"))
        })?;
        let ringer = Arc::new(Ringer(fd));
        Ok(Self { waker: ringer.clone().into(), ringer })
    }

    /// The descriptor.
    fn fileno(&self) -> i32 {
        self.ringer.0.as_raw_fd()
    }

    /// Makes it unreadable until it rings again.
    fn silence(&self) {
        // Nothing to be read: it has not rung.
        let _ = rustix::io::read(&self.ringer.0, &mut [0; 8]);
    }
}

type Requests<'py> = Vec<PyRef<'py, Request>>;

/// Waits for all requests and returns their results, in the order of the list. Raises the first failure, after all have ended.
///
/// `timeout` is in seconds, for all of them together.
#[pyfunction]
#[pyo3(signature = (requests, timeout=None))]
pub fn wait_all(
    py: Python<'_>,
    requests: Requests<'_>,
    timeout: Option<f64>,
) -> PyResult<Vec<Option<Status>>> {
    let deadline = deadline(timeout)?;
    for request in &requests {
        request.block(py, deadline)?;
    }
    requests.iter().map(|request| request.result(py)).collect()
}

/// Waits until one of the requests has ended and returns its place in the list: the first that has.
///
/// Raises ValueError if the list is empty.
#[pyfunction]
#[pyo3(signature = (requests, timeout=None))]
pub fn wait_any(py: Python<'_>, requests: Requests<'_>, timeout: Option<f64>) -> PyResult<usize> {
    first_of(py, &requests, deadline(timeout)?)
}

fn first_of(py: Python<'_>, requests: &[PyRef<'_, Request>], deadline: Option<Instant>) -> PyResult<usize> {
    let Some(first) = requests.first() else {
        return Err(PyValueError::new_err("there is no request to wait for: the list is empty"));
    };
    let engine = first.context.engine.clone();
    loop {
        let pending: Vec<_> = requests.iter().map(|request| request.pending()).collect();
        if let Some(place) = pending.iter().position(Option::is_none) {
            return Ok(place);
        }
        let list: Vec<Pending> = pending.into_iter().flatten().collect();
        if let Some((place, ended)) = portion(py, deadline, |end| engine.wait_any(&list, Some(end)))? {
            requests[place].settle(py, ended);
            return Ok(place);
        }
        let all_from_any = requests.iter().all(|request| request.kind == Kind::ReceiveFromAny);
        fail_if_in_vain(py, &first.context, all_from_any)?;
    }
}

/// Waits until at least one of the requests has ended and returns the places of all that have.
#[pyfunction]
#[pyo3(signature = (requests, timeout=None))]
pub fn wait_some(py: Python<'_>, requests: Requests<'_>, timeout: Option<f64>) -> PyResult<Vec<usize>> {
    first_of(py, &requests, deadline(timeout)?)?;
    let mut ended = Vec::new();
    for (place, request) in requests.iter().enumerate() {
        if request.test(py)? {
            ended.push(place);
        }
    }
    Ok(ended)
}

impl Request {
    /// Waits for the end of a call that blocks. If that is interrupted the operation goes on without its caller.
    pub fn finish(self, py: Python<'_>) -> PyResult<()> {
        self.block(py, None)?;
        self.result(py).map(drop)
    }
}
