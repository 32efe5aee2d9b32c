//! What stands behind a request that is more than a message: how it starts again, its steps, or what ends it elsewhere.

use canele_engine::{Buffer, Completion, Pending};

use super::Request;
use crate::partitioned::Partitioned;
use crate::status::Status;
use crate::{Class, Error, Result};

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
    /// The partitioned operation that it starts.
    fn partitioned(&self) -> Option<Partitioned<'_>> {
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
    /// The lane on which the engine is to make progress while its end is waited for, also before the program has done its part.
    fn lane(&self) -> u8 {
        self.pending().map_or(0, Pending::lane)
    }
    /// The engine has ended that.
    fn step(&self, _pending: Pending, _ended: Completion) {}
    /// Changes whenever the program has done a part of it; asked by a wait under the engine's lock, so it takes none.
    fn program_steps(&self) -> u32 {
        0
    }
}
