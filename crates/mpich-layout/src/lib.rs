//! The memory layout of MPICH's ABI, which Intel MPI and others share. Handles are C integers, whose highest
//! two bits distinguish constants from objects.
//!
//! ```text
//!   constant:  01 or 10 (2 bits) | kind (4 bits) | number of the kind, for datatypes with their size (26 bits)
//!   null:      00                | kind          | 0
//!   object:    00                | generation and index of the table of handles, whose index 0 names nothing
//! ```
//! This crate has the items that `canele-mpi-layout` describes, and shares the files that do not differ.
#![forbid(unsafe_code)]
#![allow(non_camel_case_types)] // The names of types are the standard's.

#[path = "../../mpi-layout/src/constants.rs"]
pub mod constants;
pub mod cplusplus;
pub mod fortran;
#[path = "../../mpi-layout/src/handle.rs"]
pub mod handle;
mod status;
#[cfg(test)]
#[path = "../../mpi-layout/src/tests.rs"]
mod tests;

use handle::ProgramHandle;
pub use status::MPI_Status;

/// The ABI's name in the library's version text.
pub const ABI: &str = "MPICH ABI 12";

/// The ABI's name in `mpicc -abi=`.
pub const ABI_OPTION: &str = "mpich";

/// The beginning of `MPI_Get_library_version`'s text: that of the newest MPICH release with this ABI.
/// Programs built for several implementations (mpi4py, MPI.jl, NGSolve, Boost) derive the values of constants
/// from it.
pub const NAMED_FIRST: &str = "MPICH Version:\t5.0.2\n";

/// Split types that the standard lacks, with their resources; none for this ABI.
pub const SPLIT_TYPES: &[(core::ffi::c_int, &str)] = &[];

/// The type of a handle in a program, except for files, whose handles are pointers.
pub type HandleNumber = u32;
/// The type of a file handle in a program.
pub type FileNumber = usize;

/// Returns the program's form of a handle with this value: the value.
#[inline(always)]
pub const fn in_program(value: usize) -> HandleNumber {
    value as u32
}

/// Returns the program's form of a file handle with this value: the value.
#[inline(always)]
pub const fn file_in_program(value: usize) -> FileNumber {
    value
}

impl ProgramHandle for HandleNumber {
    #[inline(always)]
    fn value(self) -> usize {
        self as usize
    }
}

impl ProgramHandle for FileNumber {
    #[inline(always)]
    fn value(self) -> usize {
        self
    }
}

/// Returns the row of a constant in the table of handles; none for other values. The bits of the row are the
/// kind, a bit for pairs of value and index, and the last bits of the constant's number.
#[inline(always)]
pub const fn constant_row(value: usize) -> Option<usize> {
    if value >> 30 == 0 || value >> 32 != 0 {
        return None;
    }
    Some((value >> 26 & 0xf) << 8 | (value >> 31) << 7 | value & 0x7f)
}

/// Returns a number that distinguishes a row's constant from other values of that row.
#[inline(always)]
pub const fn constant_mark(value: usize) -> u32 {
    (value >> 8) as u32
}
