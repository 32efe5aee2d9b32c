//! Operations under way as objects: tested, waited for, awaited.
//!
//! Owns the memory lent to the operation until it has ended. No lock of this module is held while the
//! interpreter's lock is released.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::time::Instant;

use canele_engine::{Completion, Pending, Want};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::bell::{Bell, Bells};
use crate::context::{Context, Lent};
use crate::errors::{raise, raise_text};
use crate::members::Members;
use crate::package::ResultMemory;
use crate::persistent::Template;
use crate::sending::Begun;
use crate::status::Status;
use crate::wait::{deadline, fail_if_in_vain, portion};

/// An operation under way: `test()` it, `wait()` for it, or `await` it.
///
/// Until the request has ended, the program must not change the memory of a send or touch the memory of a receive. If you drop a request, a
/// send continues, and a receive without a message is withdrawn.
#[pyclass(frozen, weakref, module = "canele")]
pub struct Request {
    pub context: Arc<Context>,
    pub kind: Kind,
    state: Mutex<State>,
    /// The ranks of the flow of a message.
    members: Members,
    /// The memory that a collective fills if the program gave none.
    value: Option<ResultValue>,
    /// The operation that a persistent request starts.
    template: Option<Template>,
    /// The bells of the event loops whose tasks await the request.
    bells: Arc<Bells>,
}

/// The kind of an operation. It decides what the end of the request returns, and what dropping the request
/// does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Send,
    Receive,
    ReceiveFromAny,
    Collective,
}

/// The memory of a collective's result.
struct ResultValue {
    memory: Py<PyAny>,
    /// True if the result is the only item of the memory.
    is_item: bool,
}

enum State {
    /// A persistent request before its first start.
    Inactive,
    UnderWay(Pending, Lent),
    Ended(Result<Option<Status>, PyErr>),
}

impl Kind {
    pub fn of_receive(want: Want) -> Self {
        if want.source.is_none() { Self::ReceiveFromAny } else { Self::Receive }
    }
}

impl Request {
    /// Makes a request for an operation that reads or writes `lent`.
    pub fn under_way(context: &Arc<Context>, kind: Kind, pending: Pending, lent: Lent) -> Self {
        Self::new(context, kind, State::UnderWay(pending, lent))
    }

    /// Makes a request for an operation that ended at once.
    pub fn ended(context: &Arc<Context>, kind: Kind, status: Option<Status>) -> Self {
        Self::new(context, kind, State::Ended(Ok(status)))
    }

    fn new(context: &Arc<Context>, kind: Kind, state: State) -> Self {
        let (members, bells) = (Members::default(), Arc::default());
        let context = context.clone();
        Self { context, kind, state: Mutex::new(state), members, value: None, template: None, bells }
    }

    /// Returns the request, for a message on a flow of these ranks.
    pub fn on(mut self, members: &Members) -> Self {
        self.members = members.clone();
        self
    }

    /// Returns the request with memory for its result.
    pub fn giving(mut self, made: Option<ResultMemory<'_>>) -> Self {
        self.value = made.map(|made| ResultValue { memory: made.memory.unbind(), is_item: made.is_item });
        self
    }

    /// Makes a request that is inactive until it is started.
    pub fn persistent(context: &Arc<Context>, kind: Kind, template: Template) -> Self {
        let mut request = Self::new(context, kind, State::Inactive);
        request.template = Some(template);
        request
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change replaces the state as a whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the engine's handle of the operation, until it has ended.
    pub fn pending(&self) -> Option<Pending> {
        match *self.state() {
            State::UnderWay(pending, _) => Some(pending),
            State::Ended(_) | State::Inactive => None,
        }
    }

    /// Stores the result that the engine gave.
    pub fn settle(&self, py: Python<'_>, ended: Completion) {
        let status = match self.kind {
            Kind::Collective => ended.result.map(|_| None),
            _ => ended.result.map(|status| Some(self.members.status(status))),
        };
        let state = State::Ended(status.map_err(|error| raise(py, error)));
        let before = std::mem::replace(&mut *self.state(), state);
        // Dropped objects may run code of the program, which may use this request.
        drop(before);
        // A thread that tested the request between its end in the engine and this point found it under way.
        self.bells.wake_by_ref();
    }

    pub fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let status = match &*self.state() {
            State::Ended(Ok(status)) => *status,
            State::Ended(Err(error)) => return Err(error.clone_ref(py)),
            State::Inactive => return Ok(py.None()),
            State::UnderWay(..) => unreachable!("asked after its end"),
        };
        match &self.value {
            Some(value) if value.is_item => Ok(value.memory.bind(py).get_item(PyTuple::empty(py))?.unbind()),
            Some(value) => Ok(value.memory.clone_ref(py)),
            None => Ok(status.into_pyobject(py)?.unbind()),
        }
    }

    pub fn block(&self, py: Python<'_>, deadline: Option<Instant>) -> PyResult<()> {
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
    /// Returns True if the request has ended. Otherwise it makes progress. Never waits.
    pub fn test(&self, py: Python<'_>) -> PyResult<bool> {
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

    /// Waits for the end of the request and returns its result. For a message this is its Status. For a collective it is the memory of the
    /// result if the program gave none, otherwise None.
    ///
    /// `timeout` is in seconds; None waits without a limit. Raises Deadline when the time-out has passed; the operation is still under way
    /// then. Raises the error of an operation that failed.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        self.block(py, deadline(timeout)?)?;
        self.result(py)
    }

    /// Starts a persistent request, which is one of send_init() or recv_init(). The program must not touch the memory of the request until
    /// it has ended.
    ///
    /// Raises Error if the request is under way or not persistent. Raises the errors of the send or receive.
    pub fn start(&self, py: Python<'_>) -> PyResult<()> {
        let Some(template) = &self.template else {
            let text =
                "only requests of send_init and recv_init can be started: this one began when it was made";
            return Err(raise_text(py, "Error", text.to_owned()));
        };
        if self.pending().is_some() {
            return Err(under_way(py));
        }
        let started = match template.start(py)? {
            Begun::Ended(status) => State::Ended(Ok(Some(self.members.status(status)))),
            Begun::UnderWay(pending, lent) => State::UnderWay(pending, lent),
        };
        let before = {
            let mut state = self.state();
            match &*state {
                // Another thread has started the request meanwhile.
                State::UnderWay(..) => Err(started),
                _ => Ok(std::mem::replace(&mut *state, started)),
            }
        };
        match before {
            Ok(_) => Ok(()),
            Err(State::UnderWay(pending, lent)) => {
                self.context.leave(pending, lent, self.kind != Kind::Send);
                Err(under_way(py))
            }
            Err(_) => Err(under_way(py)),
        }
    }

    /// Withdraws the operation if it is not too late. Returns True if it did; then wait() raises Cancelled.
    ///
    /// To withdraw a long send that is announced, Canelé asks the receiver. The call returns False then. Once the receiver communicates,
    /// wait() says whether the send was withdrawn.
    fn cancel(&self, py: Python<'_>) -> PyResult<bool> {
        match self.pending() {
            Some(pending) => self.context.engine.cancel(pending).map_err(|error| raise(py, error)),
            None => Ok(false),
        }
    }

    /// Lets a task of asyncio wait for the request. The result is that of wait().
    fn __await__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        static WAIT_FOR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = slf.py();
        let import = || Ok::<_, PyErr>(py.import("canele._await")?.getattr("wait_for")?.unbind());
        WAIT_FOR.get_or_try_init(py, import)?.bind(py).call1((slf,))?.call_method0("__await__")
    }

    /// Returns True if the request has ended. Otherwise `bell` rings when it may have ended.
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
        let state = match &*self.state() {
            State::Inactive => "not started",
            State::UnderWay(..) => "under way",
            State::Ended(_) => "ended",
        };
        format!("<canele.Request: {what}, {state}>")
    }
}

/// Makes the error of a start before the request has ended.
fn under_way(py: Python<'_>) -> PyErr {
    let text = "the request is under way: wait for its end before it is started again";
    raise_text(py, "Error", text.to_owned())
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

impl Request {
    /// Waits for the end of a blocking call. If the wait is interrupted, the operation goes on without its
    /// caller.
    pub fn finish(self, py: Python<'_>) -> PyResult<()> {
        self.complete(py).map(drop)
    }

    /// Waits for the end of a blocking call, as [`Self::finish`] does, and returns its result.
    pub fn complete(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.block(py, None)?;
        self.result(py)
    }
}
