//! Error handlers (MPI 5.0, §9.3): the reactions to a failed call.

use std::sync::Arc;

/// A handler of the program, called with the number of the object and the error code; returns the code that
/// the call returns.
pub type HandlerFunction = dyn Fn(usize, i32) -> i32 + Send + Sync;

/// The reaction to an error.
#[derive(Clone)]
pub enum Errhandler {
    /// Ends the job (`MPI_ERRORS_ARE_FATAL`).
    Fatal,
    /// Ends the ranks of the object (`MPI_ERRORS_ABORT`), and the job unless it continues after failures.
    Abort,
    /// Returns the code from the call (`MPI_ERRORS_RETURN`).
    Return,
    /// Calls the program's function; then the call returns the code that the function left.
    Call(Arc<HandlerFunction>),
}

/// Names of the initial error handlers (MPI 5.0, §11.8.4), with the corresponding values of the tunable.
pub(crate) const INITIAL: [(&str, &str); 3] =
    [("mpi_errors_are_fatal", "fatal"), ("mpi_errors_abort", "abort"), ("mpi_errors_return", "return")];

impl Errhandler {
    /// Returns the initial handler for this value of the tunable; fatal for any other value.
    pub fn initial(value: &str) -> Self {
        match value {
            "return" => Self::Return,
            "abort" => Self::Abort,
            _ => Self::Fatal,
        }
    }

    /// Returns the name of the handler, if it can be an initial one.
    pub fn initial_name(&self) -> Option<&'static str> {
        let at = match self {
            Self::Fatal => 0,
            Self::Abort => 1,
            Self::Return => 2,
            Self::Call(_) => return None,
        };
        Some(INITIAL[at].0)
    }
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
