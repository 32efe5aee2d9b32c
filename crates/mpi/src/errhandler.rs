//! Error handlers (MPI 5.0, §9.3): what happens when a call fails.

use std::sync::Arc;

/// Called with the number of the object that the error is of, and the error's code.
pub type Call = dyn Fn(usize, i32) + Send + Sync;

/// What is done with an error.
#[derive(Clone)]
pub enum Errhandler {
    /// The job is ended (`MPI_ERRORS_ARE_FATAL`).
    Fatal,
    /// The ranks of the object are ended, which here is the job (`MPI_ERRORS_ABORT`).
    Abort,
    /// The call returns the code (`MPI_ERRORS_RETURN`).
    Return,
    /// The program's function is called; then the call returns the code.
    Call(Arc<Call>),
}

impl std::fmt::Debug for Errhandler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Fatal => "Fatal",
            Self::Abort => "Abort",
            Self::Return => "Return",
            Self::Call(_) => "Call",
        })
    }
}
