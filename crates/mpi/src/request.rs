//! Requests (MPI 5.0, §3.7): operations under way, as the program holds them.
//!
//! ```text
//!   start ──▶ under way ──(the engine says how it ended: `step`)──▶ ended ──(`take`)──▶ gone, or inactive if persistent
//! ```
//! A request never waits: whoever waits for it asks the engine about [`Request::pending`], and tells the request.

use std::sync::Arc;

use canele_engine::{Buffer, Completion, Failure, Pending};

use crate::comm::Comm;
use crate::partitioned::Parts;
use crate::status::Status;
use crate::{Class, Error, Result};

/// An operation under way, or to be started again and again.
pub struct Request {
    comm: Option<Arc<Comm>>,
    state: State,
    again: Option<Box<dyn Again>>,
}

enum State {
    Inactive,
    Send(Pending),
    Receive(Pending),
    /// A receive into memory that is lent again.
    ReceiveAgain(Pending),
    /// Several steps, each of which the engine ends.
    Steps(Pending, Box<dyn Steps>),
    /// Ended by somebody else than the engine.
    Foreign(Arc<dyn Foreign>),
    Ended(Box<Result<Status>>),
}

/// How a persistent operation is started.
pub trait Again: Send {
    /// Starts it; the request that stands for it this time.
    ///
    /// # Errors
    /// As the operation itself.
    fn start(&mut self) -> Result<Request>;
    /// The operation has ended with this buffer.
    fn take_back(&mut self, _buffer: Buffer) {}
    /// A short name of the operation for texts.
    fn name(&self) -> &'static str;
    /// The parts of a partitioned send.
    fn parts(&self) -> Option<Arc<Parts>> {
        None
    }
}

/// An operation with something to be done whenever the engine has ended a part of it.
pub trait Steps: Send {
    /// A part has ended; what follows.
    fn step(&mut self, ended: Completion) -> Step;
}

/// What follows a part.
pub enum Step {
    /// Another part is under way.
    Next(Pending),
    /// All has ended.
    Done(Result<Status>),
    /// The same; the persistent operation gets its buffer back.
    Returned(Result<Status>, Buffer),
}

/// An operation that the program ends, or that waits for the program before the engine can.
pub trait Foreign: Send + Sync {
    /// The program says that it is complete.
    ///
    /// # Errors
    /// It is not for the program to say, or was said before.
    fn complete(&self) -> Result<()> {
        Err(Error::new(Class::Request, "the request is none that the program completes by itself"))
    }
    /// Whether only the program can say that it is complete.
    fn is_ended_by_program(&self) -> bool {
        false
    }
    /// Whether it is.
    fn is_complete(&self) -> bool;
    /// How it has ended.
    ///
    /// # Errors
    /// Why it failed, or what the program's own function gives.
    fn status(&self) -> Result<Status>;
    /// The program wants it withdrawn.
    ///
    /// # Errors
    /// What the program's own function gives.
    fn cancel(&self) -> Result<()>;
    /// The program has seen its end, or gives it up.
    ///
    /// # Errors
    /// What the program's own function gives.
    fn release(&self) -> Result<()>;
    /// What the engine is to be asked about, once the program has done its part.
    fn pending(&self) -> Option<Pending> {
        None
    }
    /// The engine has ended that.
    fn step(&self, _ended: Completion) {}
}

impl Request {
    pub(crate) fn send(comm: Arc<Comm>, pending: Pending) -> Self {
        Self { comm: Some(comm), state: State::Send(pending), again: None }
    }

    pub(crate) fn receive(comm: Arc<Comm>, pending: Pending) -> Self {
        Self { comm: Some(comm), state: State::Receive(pending), again: None }
    }

    /// A receive into memory that comes back to the persistent operation.
    pub(crate) fn receive_again(comm: Arc<Comm>, pending: Pending) -> Self {
        Self { comm: Some(comm), state: State::ReceiveAgain(pending), again: None }
    }

    /// An operation of several steps; `pending` is the first.
    pub fn steps(comm: Arc<Comm>, pending: Pending, steps: Box<dyn Steps>) -> Self {
        Self { comm: Some(comm), state: State::Steps(pending, steps), again: None }
    }

    /// An operation that ends elsewhere.
    pub fn foreign(comm: Option<Arc<Comm>>, operation: Arc<dyn Foreign>) -> Self {
        Self { comm, state: State::Foreign(operation), again: None }
    }

    /// An operation that has ended already.
    pub fn ended_with(comm: Option<Arc<Comm>>, result: Result<Status>) -> Self {
        Self { comm, state: State::Ended(Box::new(result)), again: None }
    }

    /// A persistent operation, not started.
    pub fn persistent(comm: Option<Arc<Comm>>, again: Box<dyn Again>) -> Self {
        Self { comm, state: State::Inactive, again: Some(again) }
    }

    /// The communicator it is on, whose handler is told of its errors.
    pub fn comm(&self) -> Option<&Arc<Comm>> {
        self.comm.as_ref()
    }

    /// Whether it can be started again.
    pub fn is_persistent(&self) -> bool {
        self.again.is_some()
    }

    /// The parts of a partitioned send.
    pub fn parts(&self) -> Option<Arc<Parts>> {
        self.again.as_ref()?.parts()
    }

    /// Whether it was started and its end has not been taken.
    pub fn is_active(&self) -> bool {
        !matches!(self.state, State::Inactive)
    }

    /// The operation, if only somebody else than the engine can end it.
    pub fn operation(&self) -> Option<Arc<dyn Foreign>> {
        match &self.state {
            State::Foreign(operation) => Some(operation.clone()),
            _ => None,
        }
    }

    /// Whether it waits for the program.
    pub fn is_foreign(&self) -> bool {
        matches!(&self.state, State::Foreign(operation) if operation.pending().is_none())
    }

    /// What the engine is to be asked about.
    #[inline]
    pub fn pending(&self) -> Option<Pending> {
        match &self.state {
            State::Send(pending)
            | State::Receive(pending)
            | State::ReceiveAgain(pending)
            | State::Steps(pending, _) => Some(*pending),
            State::Foreign(operation) => operation.pending(),
            State::Inactive | State::Ended(_) => None,
        }
    }

    /// The engine has ended what [`Request::pending`] gave.
    #[inline]
    pub fn step(&mut self, ended: Completion) {
        let result = match std::mem::replace(&mut self.state, State::Inactive) {
            State::Receive(_) => self.received(ended.result),
            State::ReceiveAgain(_) => {
                self.take_back(ended.buffer);
                self.received(ended.result)
            }
            State::Send(_) => sent(ended.result),
            State::Steps(_, steps) => return self.go_on(steps, ended),
            State::Foreign(operation) => {
                operation.step(ended);
                self.state = State::Foreign(operation);
                return;
            }
            other => {
                self.state = other;
                return;
            }
        };
        self.state = State::Ended(Box::new(result));
    }

    fn take_back(&mut self, buffer: Buffer) {
        if let Some(again) = &mut self.again {
            again.take_back(buffer);
        }
    }

    fn go_on(&mut self, mut steps: Box<dyn Steps>, ended: Completion) {
        self.state = match steps.step(ended) {
            Step::Next(pending) => State::Steps(pending, steps),
            Step::Done(result) => State::Ended(Box::new(result)),
            Step::Returned(result, buffer) => {
                self.take_back(buffer);
                State::Ended(Box::new(result))
            }
        };
    }

    fn received(&self, result: Result<canele_engine::Status, canele_engine::Error>) -> Result<Status> {
        match (result, &self.comm) {
            (Ok(status), Some(comm)) => Ok(comm.status(status)),
            (Ok(_), None) => Ok(Status::EMPTY),
            (Err(error), _) => cancelled(error),
        }
    }

    /// The same as [`Request::step`] and [`Request::take`], without a stop between where nothing more is to be done.
    #[inline]
    pub fn finish(&mut self, ended: Completion) -> Option<Result<Status>> {
        match self.state {
            State::Receive(_) => {
                self.state = State::Inactive;
                Some(self.received(ended.result))
            }
            State::Send(_) => {
                self.state = State::Inactive;
                Some(sent(ended.result))
            }
            _ => {
                self.step(ended);
                self.take()
            }
        }
    }

    /// How it ended; the request becomes inactive. Nothing while it is under way.
    pub fn take(&mut self) -> Option<Result<Status>> {
        match std::mem::replace(&mut self.state, State::Inactive) {
            State::Ended(result) => Some(*result),
            // The first error counts: of the operation, then of giving it back.
            State::Foreign(operation) if operation.is_complete() => {
                Some(match (operation.status(), operation.release()) {
                    (Ok(status), Ok(())) => Ok(status),
                    (Err(error), _) | (_, Err(error)) => Err(error),
                })
            }
            other => {
                self.state = other;
                None
            }
        }
    }

    /// The status it would give, without taking it.
    pub fn peek(&self) -> Option<Result<Status>> {
        match &self.state {
            State::Ended(result) => Some((**result).clone()),
            State::Foreign(operation) if operation.is_complete() => Some(operation.status()),
            _ => None,
        }
    }

    /// Whether it has ended, and its end was not taken.
    pub fn is_ended(&self) -> bool {
        match &self.state {
            State::Ended(_) => true,
            State::Foreign(operation) => operation.is_complete(),
            _ => false,
        }
    }

    /// Starts a persistent operation.
    ///
    /// # Errors
    /// It is not persistent, or was started before and has not been waited for.
    pub fn start(&mut self) -> Result<()> {
        let Some(again) = &mut self.again else {
            return Err(Error::new(Class::Request, "the request is not persistent: it cannot be started"));
        };
        if !matches!(self.state, State::Inactive) {
            let text = format!("the persistent {} is active already: wait for it first", again.name());
            return Err(Error::new(Class::Request, text));
        }
        self.state = again.start()?.state;
        Ok(())
    }

    /// Withdraws it, if it is not too late; its end must still be waited for.
    ///
    /// # Errors
    /// It is not active; the program's own function failed.
    pub fn cancel(&self) -> Result<()> {
        match (&self.state, &self.comm) {
            (State::Send(pending) | State::Receive(pending) | State::ReceiveAgain(pending), Some(comm)) => {
                comm.engine.cancel(*pending)?;
            }
            (State::Foreign(operation), _) => operation.cancel()?,
            (State::Ended(_), _) => {}
            (State::Inactive, _) => {
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
        self.again = None;
        match &self.state {
            State::Foreign(operation) if operation.is_complete() => operation.release(),
            _ => Ok(()),
        }
    }
}

fn sent(result: Result<canele_engine::Status, canele_engine::Error>) -> Result<Status> {
    match result {
        Ok(_) => Ok(Status::EMPTY),
        Err(error) => cancelled(error),
    }
}

/// A cancelled operation has ended well.
pub(crate) fn cancelled(error: canele_engine::Error) -> Result<Status> {
    match error {
        canele_engine::Error::Failed(Failure::Cancelled) => Ok(Status { cancelled: true, ..Status::EMPTY }),
        error => Err(error.into()),
    }
}
