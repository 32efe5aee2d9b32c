//! Errors in the form that the program sees: the handler is called, and the code (see `codes`) describes the
//! error.

use core::ffi::c_int;
use std::sync::{Arc, Once};

use canele_mpi::{Class, Comm, Errhandler, Error};

use crate::codes::{class_number, keep, text};
use crate::constants::{MPI_FILE_NULL, MPI_T_ERR_INVALID};
use crate::errhandlers;
use crate::handle::{MPI_Comm, MPI_Errhandler, MPI_File, MPI_Session, MPI_Win, ObjectHandle};
use crate::pointer::Out;
use crate::{leaks, library};

/// The result of a call's body.
pub type CallResult = Result<(), Failed>;

/// The failure of a call's body.
#[derive(Debug)]
pub enum Failed {
    /// An error, for the handler of the function's object.
    Error(Box<Error>),
    /// A handler was called and left this code.
    Raised(c_int),
}

impl From<Box<Error>> for Failed {
    fn from(error: Box<Error>) -> Self {
        Self::Error(error)
    }
}

impl From<canele_engine::Error> for Failed {
    fn from(error: canele_engine::Error) -> Self {
        Self::Error(error.into())
    }
}

/// The object whose handler is called.
pub enum On {
    /// No object: the handler is that of `MPI_COMM_SELF` (MPI 5.0, §9.3) or of `MPI_COMM_WORLD`, see
    /// [`library::comm_of_no_object`].
    Nothing,
    /// A communicator.
    Comm(MPI_Comm),
    /// A session.
    Session(MPI_Session),
    /// A window.
    Win(MPI_Win),
    /// A file; invalid handles count as `MPI_FILE_NULL`.
    File(MPI_File),
    /// No handler is called: functions of the tools interface only return codes (MPI 5.0, §15.3.10).
    Code,
    /// The object that a function was to make. This handler is an argument of the function and gets the
    /// function's own errors. It is called with this null handle.
    Given(MPI_Errhandler, usize),
}

impl From<MPI_Win> for On {
    fn from(win: MPI_Win) -> Self {
        Self::Win(win)
    }
}

impl From<MPI_File> for On {
    fn from(file: MPI_File) -> Self {
        Self::File(file)
    }
}

impl From<Out<MPI_File>> for On {
    fn from(file: Out<MPI_File>) -> Self {
        Self::File(file.get("fh").unwrap_or(MPI_FILE_NULL))
    }
}

impl From<MPI_Comm> for On {
    fn from(comm: MPI_Comm) -> Self {
        Self::Comm(comm)
    }
}

impl From<MPI_Session> for On {
    fn from(session: MPI_Session) -> Self {
        Self::Session(session)
    }
}

/// Calls the handler; returns the result of the function.
#[cold]
#[inline(never)]
pub fn raise(function: &str, on: On, failed: Failed) -> c_int {
    let error = match failed {
        Failed::Error(error) => error,
        Failed::Raised(code) => return code,
    };
    match on {
        On::Comm(comm) => match comm.share() {
            Ok(comm) => raise_on(&comm, function, &error),
            Err(_) => raise_nowhere(function, &error),
        },
        On::Session(session) => match session.share() {
            Ok(session) => handle(&session.errhandler(), session.number(), function, &error, None),
            Err(_) => raise_nowhere(function, &error),
        },
        On::Code => error.given.unwrap_or(MPI_T_ERR_INVALID),
        On::Given(errhandler, null) => match errhandler.share() {
            Ok(handler) => handle(&handler, null, function, &error, None),
            Err(_) => raise_nowhere(function, &error),
        },
        On::Win(win) => match win.share() {
            Ok(win) => raise_on(win.comm(), function, &error),
            Err(_) => raise_nowhere(function, &error),
        },
        On::File(file) => match file.share() {
            Ok(file) => raise_on(file.comm(), function, &error),
            Err(_) => handle(&errhandlers::of_files(), MPI_FILE_NULL.value(), function, &error, None),
        },
        On::Nothing => raise_nowhere(function, &error),
    }
}

/// Calls the handler of a communicator.
#[cold]
pub fn raise_on(comm: &Comm, function: &str, error: &Error) -> c_int {
    handle(&comm.errhandler(), comm.number(), function, error, Some(comm))
}

/// Calls the handler for calls without an object; the initial one before and after MPI is active.
#[cold]
fn raise_nowhere(function: &str, error: &Error) -> c_int {
    match library::comm_of_no_object() {
        Some(comm) => raise_on(&comm, function, error),
        None => handle(&library::PROCESS.errhandler(), 0, function, error, None),
    }
}

/// Reports a function that is not implemented. Canelé names the first such call of each process on standard
/// error, since programs that ignore the error, mostly of files, fail later.
#[cold]
pub fn unsupported(function: &str, on: On) -> c_int {
    static SAID: Once = Once::new();
    let text = "it is not supported by this version of Canelé; docs/mpi-conformance.md lists what is";
    let code = raise(function, on, Failed::Error(Error::new(Class::UnsupportedOperation, text)));
    SAID.call_once(|| {
        leaks::say(&format!(
            "{function} is not supported by this version of Canelé and has returned an error; docs/mpi-conformance.md lists what is"
        ));
    });
    code
}

/// Calls a handler for an object that belongs to the members of `comm`, or without one to this process alone.
fn handle(
    handler: &Arc<Errhandler>,
    number: usize,
    function: &str,
    error: &Error,
    comm: Option<&Comm>,
) -> c_int {
    let code = error.given.unwrap_or_else(|| keep(error.class, format!("{function}: {error}")));
    match &**handler {
        Errhandler::Fatal | Errhandler::Abort => {
            if error.class == Class::ProcFailed {
                library::await_end();
            }
            let text = if error.given.is_some() { format!("{function}: {error}") } else { text(code) };
            library::abort(&text, class_number(error.class), errhandlers::whom(handler, comm));
        }
        Errhandler::Return => code,
        Errhandler::Call(call) => call(number, code),
    }
}
