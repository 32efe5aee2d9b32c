//! Requests (MPI 5.0, §3.7): operations under way, as the program holds them.
//!
//! ```text
//!   start ──▶ under way ──(the engine completes it: `advance`)──▶ ended ──(`take`)──▶ freed, or inactive
//! ```
//! A request never waits: the waiting call advances it, and waits by an [`Awaited`](crate::awaited::Awaited)
//! in between. The request of a message is a few words, from its start to its status. Operations of several
//! steps, and those that complete outside the engine, are boxed. Their steps may call the program, so they
//! run without any lock.

mod advance;
mod operation;

use std::sync::Arc;

use canele_engine::Pending;

pub use operation::{Again, Foreign, Step, Steps};

use crate::comm::Comm;
use crate::partitioned::Partitioned;
use crate::status::Status;
use crate::{Class, Error, Result};

/// An operation under way, or a persistent one.
pub struct Request {
    comm: Option<Arc<Comm>>,
    state: State,
}

const _: () = assert!(size_of::<Request>() <= 40);

enum State {
    /// The result was taken.
    Over,
    Send(Pending),
    Receive(Pending),
    /// A pending receive, and the error of an unacknowledged failure, which the current wait reports.
    InDoubt(Pending, Box<Error>),
    Sent,
    Received(canele_engine::Status),
    Steps(Box<Running>),
    /// Completed outside of the engine.
    Foreign(Arc<dyn Foreign>),
    Persistent(Box<Persistent>),
    /// Completed, except for a successful message.
    Ended(Box<Result<Status>>),
}

/// An operation of several steps, with its pending step.
struct Running {
    pending: Pending,
    steps: Box<dyn Steps>,
}

/// A persistent operation, with its active request.
struct Persistent {
    again: Box<dyn Again>,
    active: Option<Request>,
}

/// The state of a request after it was advanced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestProgress {
    /// The request is not active.
    Inactive,
    /// The request is under way.
    UnderWay,
    /// The request has completed; its result must be taken.
    Ended,
    /// The request can advance only while the caller holds no lock: see [`Request::advance_outside`].
    Outside,
}

impl Request {
    fn new(comm: Option<Arc<Comm>>, state: State) -> Self {
        Self { comm, state }
    }

    /// Makes the request of a send.
    pub fn send(comm: Arc<Comm>, pending: Pending) -> Self {
        Self::new(Some(comm), State::Send(pending))
    }

    /// Makes the request of a receive.
    pub fn receive(comm: Arc<Comm>, pending: Pending) -> Self {
        Self::new(Some(comm), State::Receive(pending))
    }

    /// Makes the request of an operation of several steps; `pending` is the first one.
    pub fn steps(comm: Arc<Comm>, pending: Pending, steps: Box<dyn Steps>) -> Self {
        Self::new(Some(comm), State::Steps(Box::new(Running { pending, steps })))
    }

    /// Makes the request of an operation that completes outside of the engine.
    pub fn foreign(comm: Option<Arc<Comm>>, operation: Arc<dyn Foreign>) -> Self {
        Self::new(comm, State::Foreign(operation))
    }

    /// Makes the request of an operation that has completed.
    pub fn ended_with(comm: Option<Arc<Comm>>, result: Result<Status>) -> Self {
        Self::new(comm, State::Ended(Box::new(result)))
    }

    /// Makes the request of a send that has left.
    pub fn left(comm: Arc<Comm>) -> Self {
        Self::new(Some(comm), State::Sent)
    }

    /// Makes a persistent request, not started.
    pub fn persistent(comm: Option<Arc<Comm>>, again: Box<dyn Again>) -> Self {
        Self::new(comm, State::Persistent(Box::new(Persistent { again, active: None })))
    }

    /// Returns the request's communicator, whose error handler gets its errors.
    pub fn comm(&self) -> Option<&Arc<Comm>> {
        self.comm.as_ref()
    }

    /// Returns true if the request is persistent.
    pub fn is_persistent(&self) -> bool {
        matches!(self.state, State::Persistent(_))
    }

    /// Returns the partitioned operation that it starts.
    pub fn partitioned(&self) -> Option<Partitioned<'_>> {
        match &self.state {
            State::Persistent(persistent) => persistent.again.partitioned(),
            _ => None,
        }
    }

    /// Returns true if the request is a successful message that may be dropped under any lock, since its
    /// communicator has other references.
    pub fn is_plain(&self) -> bool {
        let lives_on = self.comm.as_ref().is_none_or(|comm| Arc::strong_count(comm) > 1);
        lives_on && matches!(self.state, State::Sent | State::Received(_))
    }

    /// Returns true if the request was started and its result was not taken.
    pub fn is_active(&self) -> bool {
        match &self.state {
            State::Over => false,
            State::Persistent(persistent) => persistent.active.is_some(),
            _ => true,
        }
    }

    /// Returns the active request: itself, or the one that a persistent request has started.
    fn active(&self) -> &Self {
        match &self.state {
            State::Persistent(persistent) => persistent.active.as_ref().unwrap_or(self),
            _ => self,
        }
    }

    /// Returns the operation, if it completes outside of the engine.
    pub fn operation(&self) -> Option<&Arc<dyn Foreign>> {
        match &self.active().state {
            State::Foreign(operation) => Some(operation),
            _ => None,
        }
    }

    /// Returns the pending operation of a message that is not persistent; none for other requests and
    /// completed messages.
    #[inline(always)]
    pub fn message(&self) -> Option<Pending> {
        match self.state {
            State::Send(pending) | State::Receive(pending) => Some(pending),
            _ => None,
        }
    }

    /// Returns the pending operation of the engine.
    pub fn pending(&self) -> Option<Pending> {
        match &self.active().state {
            State::Send(pending) | State::Receive(pending) | State::InDoubt(pending, _) => Some(*pending),
            State::Steps(running) => Some(running.pending),
            State::Foreign(operation) => operation.pending(),
            _ => None,
        }
    }

    /// Takes the result, and the request becomes inactive; none while it is under way.
    pub fn take(&mut self) -> Option<Result<Status>> {
        if !self.is_ended() {
            return None;
        }
        if let State::Persistent(persistent) = &mut self.state {
            let active = persistent.active.as_mut()?;
            return if active.is_in_doubt() { active.take() } else { persistent.active.take()?.take() };
        }
        if let State::InDoubt(pending, _) = self.state {
            let told = std::mem::replace(&mut self.state, State::Receive(pending));
            return if let State::InDoubt(_, error) = told { Some(Err(error)) } else { None };
        }
        Some(match std::mem::replace(&mut self.state, State::Over) {
            State::Received(status) => Ok(self.status_of(status)),
            State::Ended(result) => *result,
            // The first error is reported: of the operation, then of its release.
            State::Foreign(operation) => match (operation.status(), operation.release()) {
                (Ok(status), Ok(())) => Ok(status),
                (Err(error), _) | (_, Err(error)) => Err(error),
            },
            _ => Ok(Status::EMPTY),
        })
    }

    /// Returns a copy of the result without taking it.
    pub fn peek(&self) -> Option<Result<Status>> {
        match &self.active().state {
            State::Sent => Some(Ok(Status::EMPTY)),
            State::Received(status) => Some(Ok(self.status_of(*status))),
            State::Ended(result) => Some((**result).clone()),
            State::InDoubt(_, error) => Some(Err(error.clone())),
            State::Foreign(operation) if operation.is_complete() => Some(operation.status()),
            _ => None,
        }
    }

    /// Returns true if the request's result is an error that leaves it pending: it may be waited for again.
    pub fn is_in_doubt(&self) -> bool {
        matches!(self.active().state, State::InDoubt(..))
    }

    fn status_of(&self, status: canele_engine::Status) -> Status {
        self.comm.as_ref().map_or(Status::EMPTY, |comm| comm.status(status))
    }

    /// Returns true if the request has completed and its result was not taken.
    pub fn is_ended(&self) -> bool {
        match &self.active().state {
            State::Sent | State::Received(_) | State::Ended(_) | State::InDoubt(..) => true,
            State::Foreign(operation) => operation.is_complete(),
            _ => false,
        }
    }

    /// Starts a persistent operation.
    ///
    /// # Errors
    /// Fails if it is not persistent or is active.
    pub fn start(&mut self) -> Result<()> {
        let State::Persistent(persistent) = &mut self.state else {
            return Err(Error::new(Class::Request, "the request is not persistent: it cannot be started"));
        };
        if persistent.active.is_some() {
            let name = persistent.again.name();
            let text = format!("the persistent {name} is active already: wait for it first");
            return Err(Error::new(Class::Request, text));
        }
        persistent.active = Some(persistent.again.start()?);
        Ok(())
    }

    /// Cancels it, if it is not too late; it must still be completed.
    ///
    /// # Errors
    /// Fails if it is not active or the program's function fails.
    pub fn cancel(&self) -> Result<()> {
        match (&self.active().state, &self.comm) {
            (State::Send(pending) | State::Receive(pending) | State::InDoubt(pending, _), Some(comm)) => {
                comm.engine.cancel(*pending)?;
            }
            (State::Foreign(operation), _) => operation.cancel()?,
            (State::Sent | State::Received(_) | State::Ended(_), _) => {}
            (State::Over | State::Persistent(_), _) => {
                return Err(Error::new(
                    Class::Request,
                    "the request is not active: nothing can be cancelled",
                ));
            }
            _ => return Err(Error::new(Class::Request, "only messages can be cancelled")),
        }
        Ok(())
    }

    /// Frees the request for the program; the operation completes by itself.
    ///
    /// # Errors
    /// Fails with the error of the program's function.
    pub fn give_up(&mut self) -> Result<()> {
        if self.is_in_doubt() {
            self.take();
        }
        match self.operation() {
            Some(operation) if operation.is_complete() => operation.release(),
            _ => Ok(()),
        }
    }
}
