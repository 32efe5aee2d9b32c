//! What programs see in memory of Open MPI's ABI, releases 3 to 5: a constant handle is the address of a variable of the library.
//!
//! ```text
//!   constant:  the address of a variable, whose first word is the number of the constant by the standard ABI
//!   object:    an address of a range where nothing lies, by generation and index of the table of handles
//! ```
//! A program that was not compiled as position-independent code has copies of the variables, and the dynamic linker lets every library use these copies: it binds
//! each mention of a variable here to the one that counts. So addresses are never computed, and the number lies in the variable, which is copied with it. Inside of
//! the library a handle's value is the number, or generation and index, as by the standard ABI.
//!
//! This crate has the items of `canele-mpi-layout`, which says what each of them is; the files that do not differ are those of that crate.
#![allow(non_camel_case_types)] // The names of types are the standard's.

#[path = "../../mpi-layout/src/constants.rs"]
pub mod constants;
pub mod cplusplus;
pub mod fortran;
#[path = "../../mpi-layout/src/handle.rs"]
pub mod handle;
mod objects;
mod status;
#[cfg(test)]
#[path = "../../mpi-layout/src/tests.rs"]
mod tests;

use handle::CONSTANT_ROWS;
pub use objects::{FileNumber, HandleNumber, file_in_program, in_program};
pub use status::MPI_Status;

/// What the library says of its interface.
pub const ABI: &str = "Open MPI ABI 40";

/// The ABI as `mpicc -abi=` names it.
pub const ABI_OPTION: &str = "openmpi";

/// What the answer of `MPI_Get_library_version` begins with: Open MPI's, of a release with this ABI. Programs that were built for several
/// implementations tell by it which values constants have.
pub const NAMED_FIRST: &str = "Open MPI v5.0.11\n";

/// Split types that the standard lacks, with the resources that they name: boards are hosts, and the largest units hold all ranks, which have no name.
pub const SPLIT_TYPES: &[(core::ffi::c_int, &str)] = &[
    (constants::OMPI_COMM_TYPE_HWTHREAD, "hwloc://PU"),
    (constants::OMPI_COMM_TYPE_CORE, "hwloc://Core"),
    (constants::OMPI_COMM_TYPE_L1CACHE, "hwloc://L1Cache"),
    (constants::OMPI_COMM_TYPE_L2CACHE, "hwloc://L2Cache"),
    (constants::OMPI_COMM_TYPE_L3CACHE, "hwloc://L3Cache"),
    (constants::OMPI_COMM_TYPE_SOCKET, "hwloc://Package"),
    (constants::OMPI_COMM_TYPE_NUMA, "hwloc://NUMANode"),
    (constants::OMPI_COMM_TYPE_BOARD, "mpi_shared_memory"),
    (constants::OMPI_COMM_TYPE_HOST, "mpi_shared_memory"),
    (constants::OMPI_COMM_TYPE_CU, ""),
    (constants::OMPI_COMM_TYPE_CLUSTER, ""),
];

/// Returns the row of a constant in the table of handles; nothing for other values.
#[inline(always)]
pub const fn constant_row(value: usize) -> Option<usize> {
    if value < CONSTANT_ROWS { Some(value) } else { None }
}

/// Returns what tells the constant of a row from other values that lead there: nothing does.
#[inline(always)]
pub const fn constant_mark(_value: usize) -> u32 {
    0
}
