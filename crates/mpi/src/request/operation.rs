//! Operations of requests that are more than one message: operations that restart, that have steps, or that
//! complete outside of the engine.

use canele_engine::{Buffer, Completion, Pending};

use super::Request;
use crate::partitioned::Partitioned;
use crate::status::Status;
use crate::{Class, Error, Result};

/// A persistent operation.
pub trait Again: Send {
    /// Starts the operation; returns the request of this start.
    ///
    /// # Errors
    /// Fails like the operation itself.
    fn start(&mut self) -> Result<Request>;
    /// Takes back the buffer of a completed operation.
    fn take_back(&mut self, _buffer: Buffer) {}
    /// Returns a short name of the operation for texts.
    fn name(&self) -> &'static str;
    /// Returns the partitioned operation that it starts.
    fn partitioned(&self) -> Option<Partitioned<'_>> {
        None
    }
}

/// An operation that continues whenever the engine has completed a part of it.
pub trait Steps: Send {
    /// Handles a completed part; returns the next step.
    fn step(&mut self, ended: Completion) -> Step;
}

/// The next step of an operation.
pub enum Step {
    /// Another part is under way.
    Next(Pending),
    /// The operation has completed.
    Done(Result<Status>),
}

/// An operation that the program completes, or that waits for the program before the engine can complete it.
pub trait Foreign: Send + Sync {
    /// Marks the operation as complete, for the program.
    ///
    /// # Errors
    /// Fails if the program cannot complete it, or has done so before.
    fn complete(&self) -> Result<()> {
        Err(Error::new(Class::Request, "the request is none that the program completes by itself"))
    }
    /// Returns true if only the program can complete the operation.
    fn is_ended_by_program(&self) -> bool {
        false
    }
    /// Returns true if the operation is complete.
    fn is_complete(&self) -> bool;
    /// Returns the status of the completed operation.
    ///
    /// # Errors
    /// Fails with the error of the operation or of the program's function.
    fn status(&self) -> Result<Status>;
    /// Cancels the operation for the program.
    ///
    /// # Errors
    /// Fails with the error of the program's function.
    fn cancel(&self) -> Result<()>;
    /// Releases the operation, which the program has completed or freed.
    ///
    /// # Errors
    /// Fails with the error of the program's function.
    fn release(&self) -> Result<()>;
    /// Returns the pending operation of the engine, after the program has done its part.
    fn pending(&self) -> Option<Pending> {
        None
    }
    /// Returns the lane whose progress a wait needs, also before the program has done its part.
    fn lane(&self) -> u8 {
        self.pending().map_or(0, Pending::lane)
    }
    /// Handles the completion of a pending operation.
    fn step(&self, _pending: Pending, _ended: Completion) {}
    /// Returns a counter that changes whenever the program has done a step. A wait reads it under the
    /// engine's lock, so this function must take no lock.
    fn program_steps(&self) -> u32 {
        0
    }
}
