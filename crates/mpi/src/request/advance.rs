//! How requests go on, as the engine says how their operations ended.

use canele_engine::{Buffer, Completion, Completions, Engine, Failure, Pending};

use super::{Persistent, Request, RequestProgress, State, Step};
use crate::status::Status;
use crate::{Class, Error, Result};

impl Request {
    /// Lets it go on as far as it can under the locks that the caller holds.
    pub fn advance(&mut self, completions: &mut Completions<'_>) -> RequestProgress {
        let ended = match &mut self.state {
            State::Over => return RequestProgress::Inactive,
            State::Persistent(persistent) => return persistent.advance(completions),
            State::Send(pending) => match completions.take_status(*pending) {
                Some(_) => State::Sent,
                None => match completions.take(*pending) {
                    Some(ended) => sent(ended.result),
                    None => return RequestProgress::UnderWay,
                },
            },
            State::Receive(pending) | State::InDoubt(pending, _) => match completions.take_status(*pending) {
                Some(status) => State::Received(status),
                None => match completions.take(*pending) {
                    Some(ended) => received(ended.result),
                    None => match completions.why_pending(*pending) {
                        Some(failure) => State::InDoubt(*pending, in_doubt(&failure)),
                        None => {
                            self.state = State::Receive(*pending);
                            return RequestProgress::UnderWay;
                        }
                    },
                },
            },
            State::Steps(_) | State::Foreign(_) => return RequestProgress::Outside,
            State::Sent | State::Received(_) | State::Ended(_) => return RequestProgress::Ended,
        };
        self.state = ended;
        RequestProgress::Ended
    }

    /// Lets it go on as far as it can, where no lock is held; says whether it has ended.
    ///
    /// # Errors
    /// In a forked child.
    pub fn advance_outside(&mut self, engine: &Engine) -> Result<RequestProgress> {
        loop {
            let progress = engine.completions(|completions| self.advance(completions))?;
            if progress != RequestProgress::Outside {
                return Ok(progress);
            }
            let Some(pending) = self.pending() else { break };
            let ended = engine.completions(|completions| match self.state {
                // A message that is part of an operation fails with it.
                State::Steps(_) | State::Foreign(_) => completions.take_or_fail(pending),
                _ => completions.take(pending),
            })?;
            let Some(ended) = ended else { break };
            self.step(pending, ended);
        }
        Ok(if self.is_ended() { RequestProgress::Ended } else { RequestProgress::UnderWay })
    }

    /// The engine has ended a step.
    fn step(&mut self, pending: Pending, mut ended: Completion) {
        match &mut self.state {
            State::Persistent(persistent) => {
                let buffer = std::mem::replace(&mut ended.buffer, Buffer::None);
                persistent.again.take_back(buffer);
                if let Some(active) = &mut persistent.active {
                    active.step(pending, ended);
                }
            }
            State::Steps(running) => match running.steps.step(ended) {
                Step::Next(pending) => running.pending = pending,
                Step::Done(result) => self.state = State::Ended(Box::new(result)),
            },
            State::Foreign(operation) => operation.step(pending, ended),
            _ => {}
        }
    }
}

impl Persistent {
    fn advance(&mut self, completions: &mut Completions<'_>) -> RequestProgress {
        let Some(active) = &mut self.active else { return RequestProgress::Inactive };
        let (ended, state) = match active.state {
            // The memory is lent again next time.
            State::Send(pending) => match completions.take(pending) {
                Some(ended) => (ended.buffer, sent(ended.result)),
                None => return RequestProgress::UnderWay,
            },
            State::Receive(pending) | State::InDoubt(pending, _) => match completions.take(pending) {
                Some(ended) => (ended.buffer, received(ended.result)),
                None => return active.advance(completions),
            },
            _ => return active.advance(completions),
        };
        self.again.take_back(ended);
        active.state = state;
        RequestProgress::Ended
    }
}

fn sent(result: Result<canele_engine::Status, canele_engine::Error>) -> State {
    match result {
        Ok(_) => State::Sent,
        Err(error) => State::Ended(Box::new(cancelled(error))),
    }
}

fn received(result: Result<canele_engine::Status, canele_engine::Error>) -> State {
    match result {
        Ok(status) => State::Received(status),
        Err(error) => State::Ended(Box::new(cancelled(error))),
    }
}

/// The error of a receive from any source that is under way though a member has failed.
#[cold]
fn in_doubt(failure: &Failure) -> Box<Error> {
    let text = format!("{failure}, and may be the sender: acknowledge it, wait again, or cancel the receive");
    Error::new(Class::ProcFailedPending, text)
}

/// A cancelled operation has ended well.
fn cancelled(error: canele_engine::Error) -> Result<Status> {
    match error {
        canele_engine::Error::Failed(Failure::Cancelled) => Ok(Status { cancelled: true, ..Status::EMPTY }),
        error => Err(error.into()),
    }
}
