//! The events that a wait for requests waits for: completions of the engine, and steps of the program.
//!
//! This module owns the list of both during a wait. The requests stay in place: after the wait, the waiting
//! thread advances them. The engine waits by its own policy. If the program takes part in an operation, the
//! operation notifies the engine of each step.

use std::sync::Arc;

use canele_engine::{Engine, LaneSet, Pending};

use crate::Result;
use crate::request::{Foreign, Request, RequestProgress};
use crate::status::Status;

/// The events that end a wait for requests.
#[derive(Default)]
pub struct Awaited {
    pending: Vec<Pending>,
    /// Operations in which the program takes part, each with the number of the program's steps when the wait
    /// began.
    operations: Vec<(Arc<dyn Foreign>, u32)>,
    /// The lanes of these operations.
    lanes: LaneSet,
}

impl Awaited {
    /// Adds the completion or next step of a request. A request in which the program takes part must be added
    /// before its last check, so that no step is missed.
    pub fn add(&mut self, request: &Request) {
        if let Some(operation) = request.operation() {
            self.operations.push((operation.clone(), operation.program_steps()));
            self.lanes = self.lanes.with(operation.lane());
        }
        self.pending.extend(request.pending());
    }

    /// Returns true if the program takes part in one of the operations.
    pub fn is_of_program(&self) -> bool {
        !self.operations.is_empty()
    }

    /// Waits until one of the requests can advance.
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn wait(&self, engine: &Engine) -> Result<()> {
        let stepped = || self.operations.iter().any(|(operation, steps)| operation.program_steps() != *steps);
        let by_program = (!self.operations.is_empty()).then_some(&stepped as &dyn Fn() -> bool);
        Ok(engine.await_any(&self.pending, self.lanes, by_program)?)
    }
}

/// Waits for the completion of an operation that has no handle.
///
/// # Errors
/// Fails with the error of the operation.
pub fn finish(engine: &Engine, mut request: Request) -> Result<Status> {
    while request.advance_outside(engine)? == RequestProgress::UnderWay {
        let mut awaited = Awaited::default();
        awaited.add(&request);
        // A further check sees steps that the program made before the wait.
        if awaited.is_of_program() && request.advance_outside(engine)? != RequestProgress::UnderWay {
            break;
        }
        awaited.wait(engine)?;
    }
    if let Some(pending) = request.pending().filter(|_| request.is_in_doubt()) {
        // No caller has a handle to wait for the operation again.
        engine.completions(|completions| completions.take_or_fail(pending))?;
    }
    request.take().unwrap_or(Ok(Status::EMPTY))
}

#[cfg(test)]
mod tests {
    use canele_sys::atomic::{AtomicU32, Ordering::Relaxed};
    use canele_sys::tunables::Tunables;

    use super::*;

    /// Completes right after the first look at it.
    #[derive(Default)]
    struct CompleteAfterLook {
        looks: AtomicU32,
    }

    impl Foreign for CompleteAfterLook {
        fn is_complete(&self) -> bool {
            self.looks.fetch_add(1, Relaxed) > 0
        }

        fn status(&self) -> Result<Status> {
            Ok(Status::EMPTY)
        }

        fn cancel(&self) -> Result<()> {
            Ok(())
        }

        fn release(&self) -> Result<()> {
            Ok(())
        }

        fn program_steps(&self) -> u32 {
            (self.looks.load(Relaxed) > 0).into()
        }
    }

    /// Waits for ever if the wait counts the last step among those that it knows.
    #[test]
    fn a_step_between_a_look_and_the_wait_is_not_missed() {
        let engine = Engine::join(&Tunables::default(), None).unwrap();
        let operation = Arc::new(CompleteAfterLook::default());
        finish(&engine, Request::foreign(None, operation)).unwrap();
    }
}
