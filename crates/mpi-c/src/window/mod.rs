//! Windows as C programs make and use them (MPI 5.0, chapter 12).

pub mod access;
pub mod accumulate;
pub mod ask;
pub mod create;
pub(crate) mod mapped;
pub mod sync;

use core::ffi::c_int;

use crate::constants::MPI_PROC_NULL;

/// The place of a rank among the members of a window; nothing for `MPI_PROC_NULL`. That there is such a member is checked where it is looked
/// for.
#[inline(always)]
fn member(rank: c_int) -> Option<usize> {
    (rank != MPI_PROC_NULL).then_some(rank as isize as usize)
}
