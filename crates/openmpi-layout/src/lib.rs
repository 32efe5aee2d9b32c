//! The memory layout of Open MPI's ABI, releases 3 to 5: a constant handle is the address of a variable of
//! the library.
//!
//! ```text
//!   constant:  the address of a variable, whose first word is the number of the constant by the standard ABI
//!   object:    an address of a range where nothing lies, by generation and index of the table of handles
//! ```
//! A program that is not position-independent has copies of the variables, and the dynamic linker binds each
//! reference in every library to these copies. So addresses are never computed; the number is in the
//! variable, which is copied with it. Inside of the library a handle's value is the number, or generation and
//! index, as in the standard ABI.
//!
//! This crate has the items that `canele-mpi-layout` describes, and shares the files that do not differ.
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

/// The ABI's name in the library's version text.
pub const ABI: &str = "Open MPI ABI 40";

/// The ABI's name in `mpicc -abi=`.
pub const ABI_OPTION: &str = "openmpi";

/// The beginning of `MPI_Get_library_version`'s text: that of an Open MPI release with this ABI. Programs
/// built for several implementations derive the values of constants from it.
pub const NAMED_FIRST: &str = "Open MPI v5.0.11\n";

/// Split types that the standard lacks, with their resources: boards are hosts; the largest units hold all
/// ranks and have no name.
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

/// Returns the row of a constant in the table of handles; none for other values.
#[inline(always)]
pub const fn constant_row(value: usize) -> Option<usize> {
    if value < CONSTANT_ROWS { Some(value) } else { None }
}

/// Returns a number that distinguishes a row's constant from other values of that row; none exist here.
#[inline(always)]
pub const fn constant_mark(_value: usize) -> u32 {
    0
}
