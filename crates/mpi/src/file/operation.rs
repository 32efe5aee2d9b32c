//! The state behind the request of a non-blocking access: a result that a thread of the library sets.

use std::sync::{Arc, OnceLock};

use crate::request::Foreign;
use crate::status::Status;
use crate::{Class, Error, Result};

/// An access in progress.
#[derive(Default)]
pub(super) struct Operation {
    result: OnceLock<Result<Status>>,
}

impl Foreign for Operation {
    fn is_complete(&self) -> bool {
        self.result.get().is_some()
    }

    fn status(&self) -> Result<Status> {
        self.result.get().cloned().unwrap_or(Ok(Status::EMPTY))
    }

    fn cancel(&self) -> Result<()> {
        // A started access cannot be cancelled; it completes normally.
        Ok(())
    }

    fn release(&self) -> Result<()> {
        Ok(())
    }

    fn program_steps(&self) -> u32 {
        self.is_complete().into()
    }
}

/// Completes an operation with an error if it is dropped before [`EndGuard::end`].
pub(super) struct EndGuard(Arc<Operation>);

impl EndGuard {
    pub fn of(operation: &Arc<Operation>) -> Self {
        Self(operation.clone())
    }

    pub fn end(self, result: Result<Status>) {
        let _ = self.0.result.set(result);
    }
}

impl Drop for EndGuard {
    fn drop(&mut self) {
        // This has no effect if the operation has a result.
        self.0.result.get_or_init(|| Err(Error::new(Class::Internal, "the access to the file has panicked")));
    }
}
