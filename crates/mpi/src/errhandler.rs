//! Error handlers (MPI 5.0, §9.3): what happens when a call fails.

use std::sync::Arc;

/// Called with the number of the object that the error is of, and the error's code; gives the code that the call returns.
pub type HandlerFunction = dyn Fn(usize, i32) -> i32 + Send + Sync;

/// What is done with an error.
#[derive(Clone)]
pub enum Errhandler {
    /// The job is ended (`MPI_ERRORS_ARE_FATAL`).
    Fatal,
    /// The ranks of the object are ended (`MPI_ERRORS_ABORT`), and so the job, unless it goes on after failures.
    Abort,
    /// The call returns the code (`MPI_ERRORS_RETURN`).
    Return,
    /// The program's function is called; then the call returns the code, as that function leaves it.
    Call(Arc<HandlerFunction>),
}

/// The handlers that a program may begin with: their names (MPI 5.0, §11.8.4) and the values of the setting that says which.
pub(crate) const INITIAL: [(&str, &str); 3] =
    [("mpi_errors_are_fatal", "fatal"), ("mpi_errors_abort", "abort"), ("mpi_errors_return", "return")];

impl Errhandler {
    /// The handler that communicators begin with by this value of the setting, fatal if there is none such.
    pub fn initial(value: &str) -> Self {
        match value {
            "return" => Self::Return,
            "abort" => Self::Abort,
            _ => Self::Fatal,
        }
    }

    /// The name of a handler that a program may begin with.
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
