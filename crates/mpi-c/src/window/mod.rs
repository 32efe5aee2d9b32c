//! Windows as C programs make and use them (MPI 5.0, chapter 12).

pub mod access;
pub mod accumulate;
pub mod ask;
pub mod create;
pub(crate) mod mapped;
pub mod sync;

use core::ffi::c_int;

use crate::constants::MPI_PROC_NULL;

/// Returns the rank as an index into the members of a window; none for `MPI_PROC_NULL`. The look-up checks
/// that the member exists.
#[inline(always)]
fn member(rank: c_int) -> Option<usize> {
    (rank != MPI_PROC_NULL).then_some(rank as isize as usize)
}
