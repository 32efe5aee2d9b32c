//! The codes of the tools interface (MPI 5.0, table 15.6). They are their own classes.

use core::ffi::c_int;

use canele_mpi::tools::{Reason, ToolError};
use canele_mpi::{Class, Error};

use crate::constants::*;
use crate::error::Failed;

/// All codes, with their names and meanings.
const CODES: [(c_int, &str, &str); 18] = [
    (MPI_T_ERR_CANNOT_INIT, "MPI_T_ERR_CANNOT_INIT", "the tools interface cannot be initialised"),
    (MPI_T_ERR_NOT_ACCESSIBLE, "MPI_T_ERR_NOT_ACCESSIBLE", "what is asked for cannot be had now"),
    (MPI_T_ERR_NOT_INITIALIZED, "MPI_T_ERR_NOT_INITIALIZED", "the tools interface is not initialised"),
    (MPI_T_ERR_NOT_SUPPORTED, "MPI_T_ERR_NOT_SUPPORTED", "what is asked for is not offered"),
    (MPI_T_ERR_MEMORY, "MPI_T_ERR_MEMORY", "memory is exhausted"),
    (MPI_T_ERR_INVALID, "MPI_T_ERR_INVALID", "an argument has a value that it cannot have"),
    (MPI_T_ERR_INVALID_INDEX, "MPI_T_ERR_INVALID_INDEX", "nothing has this index"),
    (MPI_T_ERR_INVALID_ITEM, "MPI_T_ERR_INVALID_ITEM", "no item has this index"),
    (MPI_T_ERR_INVALID_SESSION, "MPI_T_ERR_INVALID_SESSION", "no session has this handle"),
    (MPI_T_ERR_INVALID_HANDLE, "MPI_T_ERR_INVALID_HANDLE", "nothing has this handle"),
    (MPI_T_ERR_INVALID_NAME, "MPI_T_ERR_INVALID_NAME", "nothing has this name"),
    (MPI_T_ERR_OUT_OF_HANDLES, "MPI_T_ERR_OUT_OF_HANDLES", "all handles are used"),
    (MPI_T_ERR_OUT_OF_SESSIONS, "MPI_T_ERR_OUT_OF_SESSIONS", "all sessions are used"),
    (MPI_T_ERR_CVAR_SET_NOT_NOW, "MPI_T_ERR_CVAR_SET_NOT_NOW", "the control variable cannot be set now"),
    (MPI_T_ERR_CVAR_SET_NEVER, "MPI_T_ERR_CVAR_SET_NEVER", "the control variable can never be set"),
    (MPI_T_ERR_PVAR_NO_WRITE, "MPI_T_ERR_PVAR_NO_WRITE", "the variable can be neither written nor reset"),
    (
        MPI_T_ERR_PVAR_NO_STARTSTOP,
        "MPI_T_ERR_PVAR_NO_STARTSTOP",
        "the variable can be neither started nor stopped",
    ),
    (
        MPI_T_ERR_PVAR_NO_ATOMIC,
        "MPI_T_ERR_PVAR_NO_ATOMIC",
        "the variable cannot be read and reset in one step",
    ),
];

/// Returns the meaning of a code of the interface; none for another code.
pub(crate) fn text(code: c_int) -> Option<String> {
    CODES.iter().find(|(number, ..)| *number == code).map(|(_, name, meaning)| format!("{name}: {meaning}"))
}

fn number(reason: Reason) -> c_int {
    match reason {
        Reason::NotInitialized => MPI_T_ERR_NOT_INITIALIZED,
        Reason::NotAccessible => MPI_T_ERR_NOT_ACCESSIBLE,
        Reason::NotSupported => MPI_T_ERR_NOT_SUPPORTED,
        Reason::Invalid => MPI_T_ERR_INVALID,
        Reason::InvalidIndex => MPI_T_ERR_INVALID_INDEX,
        Reason::InvalidSession => MPI_T_ERR_INVALID_SESSION,
        Reason::InvalidHandle => MPI_T_ERR_INVALID_HANDLE,
        Reason::InvalidName => MPI_T_ERR_INVALID_NAME,
        Reason::SetNotNow => MPI_T_ERR_CVAR_SET_NOT_NOW,
        Reason::SetNever => MPI_T_ERR_CVAR_SET_NEVER,
        Reason::NoWrite => MPI_T_ERR_PVAR_NO_WRITE,
        Reason::NoStartStop => MPI_T_ERR_PVAR_NO_STARTSTOP,
        Reason::NoAtomic => MPI_T_ERR_PVAR_NO_ATOMIC,
    }
}

impl From<ToolError> for Failed {
    fn from(error: ToolError) -> Self {
        let given = Some(number(error.reason));
        Self::Error(Box::new(Error { given, ..*Error::new(Class::Argument, error.text) }))
    }
}
