//! The memory layout of an ABI for programs; here of the standard ABI (MPI 5.0, chapter 20), whose handles
//! are pointers with small numbers as constants.
//!
//! An ABI is a crate with the items below. `canele-mpi-c` imports this crate as `layout`. `canele-mpich-c`
//! compiles the same sources and imports `canele-mpich-layout` under that name.
//!
//! | item | contents | differs between ABIs |
//! |---|---|---|
//! | [`handle`] | the handle types | no: the file is shared |
//! | [`HandleNumber`], [`FileNumber`] | the form of a handle in memory | yes |
//! | [`in_program`], [`file_in_program`] | a handle's form in memory from its internal value | yes |
//! | its [`ProgramHandle`] | the internal value from the form in memory | yes |
//! | [`constants`] | the values of constants, from the tables of `canele-mpi-tables` | yes |
//! | [`constant_row`], [`constant_mark`] | the rows of constants in the table of handles | yes |
//! | [`MPI_Status`] | the struct of a status | yes |
//! | [`ABI`], [`NAMED_FIRST`] | the library's description of itself | yes |
//! | [`SPLIT_TYPES`] | split types beyond the standard | yes |
//! | [`fortran`] | support for a Fortran library beyond functions | yes |
//! | [`cplusplus`] | support for a C++ library beyond functions | yes |
//!
//! `canele-mpi-c` implements the calls once for all ABIs.
#![forbid(unsafe_code)]
#![allow(non_camel_case_types)] // The names of types are the standard's.

pub mod constants;
pub mod cplusplus;
pub mod fortran;
pub mod handle;
mod status;
#[cfg(test)]
mod tests;

use handle::{CONSTANT_ROWS, ProgramHandle};
pub use status::MPI_Status;

/// The ABI's name in the library's version text.
pub const ABI: &str = "standard ABI 1.0";

/// The ABI's name in `mpicc -abi=`.
pub const ABI_OPTION: &str = "standard";

/// The beginning of `MPI_Get_library_version`'s text before Canelé's name; empty for this ABI.
pub const NAMED_FIRST: &str = "";

/// Split types that the standard lacks, with their resources; none for this ABI.
pub const SPLIT_TYPES: &[(core::ffi::c_int, &str)] = &[];

/// The type of a handle in a program, except for files.
pub type HandleNumber = usize;
/// The type of a file handle in a program.
pub type FileNumber = usize;

/// Returns the program's form of a handle with this value: the value.
#[inline(always)]
pub const fn in_program(value: usize) -> HandleNumber {
    value
}

/// Returns the program's form of a file handle with this value: the value.
#[inline(always)]
pub const fn file_in_program(value: usize) -> FileNumber {
    value
}

impl ProgramHandle for HandleNumber {
    #[inline(always)]
    fn value(self) -> usize {
        self
    }
}

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
