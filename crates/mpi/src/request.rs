//! Requests (MPI 5.0, §3.7): operations under way, as the program holds them.
//!
//! ```text
//!   start ──▶ under way ──(the engine says how it ended: `advance`)──▶ ended ──(`take`)──▶ gone, or inactive if persistent
//! ```
//! A request never waits: the waiting call lets it advance, and asks an [`Awaited`](crate::awaited::Awaited) to wait in between.
//! A message stands in its request as a few words, from its start to its status. Operations of several steps, and those that
//! end elsewhere, have a box; what they do then may call the program, so it is done where no lock is held.

mod advance;
mod operation;

use std::sync::Arc;

use canele_engine::Pending;

pub use operation::{Again, Foreign, Step, Steps};

use crate::comm::Comm;
use crate::partitioned::Partitioned;
use crate::status::Status;
use crate::{Class, Error, Result};

/// An operation under way, or to be started again and again.
pub struct Request {
    comm: Option<Arc<Comm>>,
    state: State,
}

const _: () = assert!(size_of::<Request>() <= 40);

enum State {
    /// Its end was taken.
    Over,
    Send(Pending),
    Receive(Pending),
    /// A receive that is under way, and the error of a failure that is not acknowledged, which is told now.
    InDoubt(Pending, Box<Error>),
    Sent,
    Received(canele_engine::Status),
    Steps(Box<Running>),
    /// Ended by something else than the engine alone.
    Foreign(Arc<dyn Foreign>),
    Persistent(Box<Persistent>),
    /// Ended otherwise than a message does that goes well.
    Ended(Box<Result<Status>>),
}

/// An operation of several steps, of which this one is under way.
struct Running {
    pending: Pending,
    steps: Box<dyn Steps>,
}

/// An operation that can be started again, and what is under way of it.
struct Persistent {
    again: Box<dyn Again>,
    active: Option<Request>,
}

/// How far a request is after it was let advance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestProgress {
    /// It is not active.
    Inactive,
    /// It is under way.
    UnderWay,
    /// It has ended; its end is to be taken.
    Ended,
    /// It can go on, but not while the caller holds a lock: see [`Request::advance_outside`].
    Outside,
}

impl Request {
    fn new(comm: Option<Arc<Comm>>, state: State) -> Self {
        Self { comm, state }
    }

    /// A message that is sent.
    pub fn send(comm: Arc<Comm>, pending: Pending) -> Self {
        Self::new(Some(comm), State::Send(pending))
    }

    /// A message that is received.
    pub fn receive(comm: Arc<Comm>, pending: Pending) -> Self {
        Self::new(Some(comm), State::Receive(pending))
    }

    /// An operation of several steps; `pending` is the first.
    pub fn steps(comm: Arc<Comm>, pending: Pending, steps: Box<dyn Steps>) -> Self {
        Self::new(Some(comm), State::Steps(Box::new(Running { pending, steps })))
    }

    /// An operation that ends elsewhere.
    pub fn foreign(comm: Option<Arc<Comm>>, operation: Arc<dyn Foreign>) -> Self {
        Self::new(comm, State::Foreign(operation))
    }

    /// An operation that has ended already.
    pub fn ended_with(comm: Option<Arc<Comm>>, result: Result<Status>) -> Self {
        Self::new(comm, State::Ended(Box::new(result)))
    }

    /// A send that has left already.
    pub fn left(comm: Arc<Comm>) -> Self {
        Self::new(Some(comm), State::Sent)
    }

    /// A persistent operation, not started.
    pub fn persistent(comm: Option<Arc<Comm>>, again: Box<dyn Again>) -> Self {
        Self::new(comm, State::Persistent(Box::new(Persistent { again, active: None })))
    }

    /// The communicator it is on, whose handler is told of its errors.
    pub fn comm(&self) -> Option<&Arc<Comm>> {
        self.comm.as_ref()
    }

    /// Whether it can be started again.
    pub fn is_persistent(&self) -> bool {
        matches!(self.state, State::Persistent(_))
    }

    /// The partitioned operation that it starts.
    pub fn partitioned(&self) -> Option<Partitioned<'_>> {
        match &self.state {
            State::Persistent(persistent) => persistent.again.partitioned(),
            _ => None,
        }
    }

    /// Whether it is a message that has ended well, and may be dropped under any lock: its communicator lives on.
    pub fn is_plain(&self) -> bool {
        let lives_on = self.comm.as_ref().is_none_or(|comm| Arc::strong_count(comm) > 1);
        lives_on && matches!(self.state, State::Sent | State::Received(_))
    }

    /// Whether it was started and its end has not been taken.
    pub fn is_active(&self) -> bool {
        match &self.state {
            State::Over => false,
            State::Persistent(persistent) => persistent.active.is_some(),
            _ => true,
        }
    }

    /// What is under way: the request itself, or what a persistent one has started.
    fn active(&self) -> &Self {
        match &self.state {
            State::Persistent(persistent) => persistent.active.as_ref().unwrap_or(self),
            _ => self,
        }
    }

    /// The operation, if something else than the engine alone ends it.
    pub fn operation(&self) -> Option<&Arc<dyn Foreign>> {
        match &self.active().state {
            State::Foreign(operation) => Some(operation),
            _ => None,
        }
    }

    /// What the engine is to be asked about a message that is not persistent; nothing of any other request, or after its end.
    #[inline(always)]
    pub fn message(&self) -> Option<Pending> {
        match self.state {
            State::Send(pending) | State::Receive(pending) => Some(pending),
            _ => None,
        }
    }

    /// What the engine is to be asked about.
    pub fn pending(&self) -> Option<Pending> {
        match &self.active().state {
            State::Send(pending) | State::Receive(pending) | State::InDoubt(pending, _) => Some(*pending),
            State::Steps(running) => Some(running.pending),
            State::Foreign(operation) => operation.pending(),
            _ => None,
        }
    }

    /// How it ended; the request becomes inactive. Nothing while it is under way.
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
            // The first error counts: of the operation, then of giving it back.
            State::Foreign(operation) => match (operation.status(), operation.release()) {
                (Ok(status), Ok(())) => Ok(status),
                (Err(error), _) | (_, Err(error)) => Err(error),
            },
            _ => Ok(Status::EMPTY),
        })
    }

    /// The status it would give, without taking it.
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

    /// True if its end is an error that leaves it under way: it may be waited for again.
    pub fn is_in_doubt(&self) -> bool {
        matches!(self.active().state, State::InDoubt(..))
    }

    fn status_of(&self, status: canele_engine::Status) -> Status {
        self.comm.as_ref().map_or(Status::EMPTY, |comm| comm.status(status))
    }

    /// Whether it has ended, and its end was not taken.
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
    /// It is not persistent, or was started before and has not been waited for.
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

    /// Withdraws it, if it is not too late; its end must still be waited for.
    ///
    /// # Errors
    /// It is not active; the program's own function failed.
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

    /// The program gives it up: it ends by itself.
    ///
    /// # Errors
    /// What the program's own function gives.
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
