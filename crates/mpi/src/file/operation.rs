//! What stands behind the request of a non-blocking access: a result that a thread of the library gives.

use std::sync::{Arc, OnceLock};

use crate::request::Foreign;
use crate::status::Status;
use crate::{Class, Error, Result};

/// An access under way.
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
        // It is too late: the access ends as it would.
        Ok(())
    }

    fn release(&self) -> Result<()> {
        Ok(())
    }

    fn program_steps(&self) -> u32 {
        self.is_complete().into()
    }
}

/// Ends an operation with an error when it is dropped before [`EndGuard::end`].
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
        // Nothing happens if it has ended.
        self.0.result.get_or_init(|| Err(Error::new(Class::Internal, "the access to the file has panicked")));
    }
}
