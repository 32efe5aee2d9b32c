//! Generalized requests (MPI 5.0, §13.2): operations that the program completes.

use std::sync::Arc;

use canele_sys::atomic::{AtomicBool, Ordering};

use crate::request::{Foreign, Request};
use crate::status::Status;
use crate::{Result, fail};

/// The program's functions of an operation.
pub trait Functions: Send + Sync {
    /// Returns the status of the operation.
    ///
    /// # Errors
    /// Fails with the code that the function returns.
    fn query(&self) -> Result<Status>;
    /// Frees the operation, which is no longer needed.
    ///
    /// # Errors
    /// Fails with the code that the function returns.
    fn free(&self) -> Result<()>;
    /// Cancels the operation; `complete` is true if it was complete already.
    ///
    /// # Errors
    /// Fails with the code that the function returns.
    fn cancel(&self, complete: bool) -> Result<()>;
}

/// An operation that the program completes.
pub struct Generalized {
    functions: Box<dyn Functions>,
    complete: AtomicBool,
}

impl Generalized {
    /// Returns a request for an operation that has begun, and the operation.
    pub fn start(functions: Box<dyn Functions>) -> (Request, Arc<Self>) {
        let operation = Arc::new(Self { functions, complete: AtomicBool::new(false) });
        (Request::foreign(None, operation.clone()), operation)
    }
}

impl Foreign for Generalized {
    fn complete(&self) -> Result<()> {
        // Release: pairs with `is_complete`; a thread that waited for the operation sees its effects.
        if self.complete.swap(true, Ordering::Release) {
            fail!(Request, "the operation was completed before");
        }
        Ok(())
    }

    fn is_ended_by_program(&self) -> bool {
        true
    }

    fn is_complete(&self) -> bool {
        // Acquire: pairs with `complete`.
        self.complete.load(Ordering::Acquire)
    }

    fn status(&self) -> Result<Status> {
        self.functions.query()
    }

    fn program_steps(&self) -> u32 {
        self.is_complete().into()
    }

    fn cancel(&self) -> Result<()> {
        self.functions.cancel(self.is_complete())
    }

    fn release(&self) -> Result<()> {
        self.functions.free()
    }
}
