//! Errors of the crate as exceptions of the package (`canele.errors`).

use canele::{Error, Failure};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::status::RankNumber;

/// Makes the exception for an error. Its attribute `rank` is the rank that the error names.
#[cold]
pub fn raise(py: Python<'_>, error: Error) -> PyErr {
    let (name, rank) = class_of(&error);
    make(py, name, rank, error.to_string()).unwrap_or_else(|other| other)
}

/// Makes an exception of the package with a text of this module.
#[cold]
pub fn raise_text(py: Python<'_>, name: &str, text: String) -> PyErr {
    make(py, name, None, text).unwrap_or_else(|other| other)
}

fn make(py: Python<'_>, name: &str, rank: Option<RankNumber>, text: String) -> PyResult<PyErr> {
    static ERRORS: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let errors = ERRORS.get_or_try_init(py, || PyModule::import(py, "canele.errors").map(Bound::unbind))?;
    let exception = errors.bind(py).getattr(name)?.call1((text,))?;
    exception.setattr("rank", rank)?;
    Ok(PyErr::from_value(exception))
}

/// Returns the name of the class of an error, and the rank that the error names.
fn class_of(error: &Error) -> (&'static str, Option<RankNumber>) {
    match error {
        Error::NoSuchRank { rank, .. } => ("NoSuchRank", Some(rank.0)),
        Error::Failed(failure) => class_of_failure(failure),
        Error::Deadline(_) => ("Deadline", None),
        Error::Forked => ("Forked", None),
        Error::Connect(_) | Error::Open(_) => ("NetworkError", None),
        Error::Memory(_) | Error::Event(_) => ("OutOfMemory", None),
        Error::Control(_) => ("LauncherError", None),
        Error::NameTaken(_) => ("NameTaken", None),
        Error::Lengths { .. } => ("LengthMismatch", None),
        Error::Range { .. } => ("OutOfRange", None),
        Error::Refused { owner, .. } => ("Refused", Some(owner.0)),
        Error::Closed(owner) => ("MailboxClosed", Some(owner.0)),
        Error::Finished => ("Finished", None),
        _ => ("Error", None),
    }
}

fn class_of_failure(failure: &Failure) -> (&'static str, Option<RankNumber>) {
    match failure {
        Failure::Truncated { source_rank, .. } => ("Truncated", Some(source_rank.0)),
        Failure::PeerFailed(rank) => ("PeerFailed", Some(rank.0)),
        Failure::Unreachable(rank, _) => ("Unreachable", Some(rank.0)),
        Failure::CutOff { of, .. } => ("CutOff", Some(of.0)),
        Failure::PeerFinished(rank) => ("PeerFinished", Some(rank.0)),
        Failure::RegionLost(rank) => ("RegionLost", Some(rank.0)),
        Failure::NoSenderLeft => ("NoSenderLeft", None),
        Failure::Cancelled => ("Cancelled", None),
        Failure::Finished => ("Finished", None),
        _ => ("Error", None),
    }
}
