//! Errors of the operating system as errors of MPI (MPI 5.0, §14.7).

use std::path::Path;

use rustix::io::Errno;

use crate::{Class, Error};

/// Returns the error class of an error of the operating system.
pub(super) fn class_of(errno: Errno) -> Class {
    match errno {
        Errno::NOENT => Class::NoSuchFile,
        Errno::NOTDIR | Errno::NAMETOOLONG | Errno::LOOP | Errno::ISDIR | Errno::ILSEQ => Class::BadFile,
        Errno::ACCESS | Errno::PERM => Class::Access,
        Errno::ROFS => Class::ReadOnly,
        Errno::EXIST => Class::FileExists,
        Errno::BUSY | Errno::TXTBSY => Class::FileInUse,
        Errno::NOSPC => Class::NoSpace,
        // The process's limit on file sizes is treated as a quota.
        Errno::DQUOT | Errno::FBIG => Class::Quota,
        Errno::NOMEM => Class::NoMemory,
        Errno::NOSYS | Errno::OPNOTSUPP => Class::UnsupportedOperation,
        _ => Class::Io,
    }
}

/// Returns the error of a failed operation; `what` names it, as in "write 8 bytes at 16 to".
#[cold]
pub(super) fn failed(errno: Errno, what: &str, path: &Path, rank: usize) -> Box<Error> {
    let text = format!("rank {rank} cannot {what} {}: {errno}", path.display());
    Error::new(class_of(errno), text)
}
