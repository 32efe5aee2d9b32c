//! Progress of requests when the engine completes their operations.

use canele_engine::{Buffer, Completion, Completions, Engine, Failure, Pending};

use super::{Persistent, Request, RequestProgress, State, Step};
use crate::status::Status;
use crate::{Class, Error, Result};

impl Request {
    /// Advances the request as far as possible under the locks that the caller holds.
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

    /// Advances the request as far as possible, where the caller holds no lock; returns its progress.
    ///
    /// # Errors
    /// Fails in a forked child.
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

    /// Handles a step that the engine has completed.
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
            // The memory is lent again at the next start.
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

/// Returns the error of a pending receive from any source after a member failed.
#[cold]
fn in_doubt(failure: &Failure) -> Box<Error> {
    let text = format!("{failure}, and may be the sender: acknowledge it, wait again, or cancel the receive");
    Error::new(Class::ProcFailedPending, text)
}

/// Returns the status of a cancelled operation; cancelling is no failure.
fn cancelled(error: canele_engine::Error) -> Result<Status> {
    match error {
        canele_engine::Error::Failed(Failure::Cancelled) => Ok(Status { cancelled: true, ..Status::EMPTY }),
        error => Err(error.into()),
    }
}
