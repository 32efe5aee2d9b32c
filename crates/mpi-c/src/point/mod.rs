//! Messages (MPI 5.0, chapter 3).

pub mod blocking;
pub mod buffered;
pub mod complete;
pub mod look;
pub mod partitioned;
pub mod persistent;
pub mod probe;
pub mod route;
pub mod short;
pub mod start;
pub mod statuses;
pub mod wait;

use core::ffi::c_int;

use canele_mpi::point::{From, Target};
use canele_mpi::{Class, Comm, Error, Result, Tag};

use crate::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_PROC_NULL};

/// The largest tag (`MPI_TAG_UB`); the library uses larger ones.
pub const LARGEST_TAG: c_int = (1 << 30) - 1;

/// Returns the destination of a send; `None` for `MPI_PROC_NULL`.
///
/// # Errors
/// Fails on an invalid rank or tag, or if the communicator is revoked.
#[inline(always)]
pub fn target(comm: &Comm, dest: c_int, tag: c_int) -> Result<Option<Target>> {
    if tag as u32 > LARGEST_TAG as u32 {
        return Err(no_tag(tag, "tag"));
    }
    comm.check_revoked()?;
    match comm.peers().members().get(dest as usize) {
        Some(rank) => Ok(Some(Target { rank: *rank, tag: Tag(tag as u32) })),
        None if dest == MPI_PROC_NULL => Ok(None),
        None => Err(no_rank(comm, dest, "dest", "MPI_PROC_NULL")),
    }
}

/// Returns the messages that a receive accepts; `None` for `MPI_PROC_NULL`.
///
/// # Errors
/// Fails on an invalid rank or tag, or if the communicator is revoked.
#[inline(always)]
pub fn from(comm: &Comm, source: c_int, tag: c_int) -> Result<Option<From>> {
    let tag = match tag {
        MPI_ANY_TAG => {
            comm.check_any_tag()?;
            None
        }
        _ if tag as u32 <= LARGEST_TAG as u32 => Some(Tag(tag as u32)),
        _ => return Err(no_tag(tag, "tag")),
    };
    comm.check_revoked()?;
    match comm.peers().members().get(source as usize) {
        Some(rank) => Ok(Some(From { source: Some(*rank), tag })),
        None if source == MPI_ANY_SOURCE => Ok(Some(From { source: None, tag })),
        None if source == MPI_PROC_NULL => Ok(None),
        None => Err(no_rank(comm, source, "source", "MPI_ANY_SOURCE or MPI_PROC_NULL")),
    }
}

#[cold]
fn no_rank(comm: &Comm, rank: c_int, what: &str, special: &str) -> Box<Error> {
    let size = comm.peers().members().len();
    let text = format!("{what} is {rank}: it must be from 0 to {}, or {special}", size.saturating_sub(1));
    Error::new(Class::Rank, text)
}

#[cold]
fn no_tag(tag: c_int, what: &str) -> Box<Error> {
    Error::new(
        Class::Tag,
        format!("{what} is {tag}: it must be from 0 to MPI_TAG_UB, which is {LARGEST_TAG}"),
    )
}
