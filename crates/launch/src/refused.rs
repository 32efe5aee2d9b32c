//! Texts for refused system calls that a job needs. Owns the form of the text: the call, its use, a remedy.

use std::io;

use rustix::io::Errno;

/// Returns an error that names `call`, its purpose and a remedy.
pub fn refused<E: Into<io::Error>>(
    call: &'static str,
    purpose: &'static str,
    remedy: &'static str,
) -> impl Fn(E) -> io::Error {
    move |error| {
        let error = error.into();
        io::Error::new(error.kind(), format!("{call} failed: {error}. It is needed {purpose}; {remedy}"))
    }
}

/// Returns the error for a refused memory file.
pub fn refused_memory(error: io::Error) -> io::Error {
    if error.raw_os_error() == Some(Errno::FBIG.raw_os_error()) {
        let remedy = "raise the limit of the size of files (`ulimit -f`), which holds for such memory, too";
        return refused("writing memory of a file", "for memory that processes share", remedy)(error);
    }
    let remedy = "let the sandbox allow it (ranks of one host communicate through such memory)";
    refused("memfd_create", "for memory that processes share", remedy)(error)
}
