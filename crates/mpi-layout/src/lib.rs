//! What programs see of an ABI in memory, here of the standard's (MPI 5.0, chapter 20): handles are pointers, whose constants are small numbers.
//!
//! An ABI is one crate with the items below. `canele-mpi-c` names this crate `layout`. `canele-mpich-c` compiles the same sources, and names
//! `canele-mpich-layout` so.
//!
//! | item | what it says | differs between ABIs |
//! |---|---|---|
//! | [`handle`] | the handle types | no: the file is shared |
//! | [`HandleNumber`], [`FileNumber`] | what a handle is in memory | yes |
//! | [`in_program`], [`file_in_program`] | what a program sees of the value that a handle has inside of the library | yes |
//! | its [`ProgramHandle`] | the way back | yes |
//! | [`constants`] | the values of constants, from the tables of `canele-mpi-tables` | yes |
//! | [`constant_row`], [`constant_mark`] | where constants stand in the table of handles | yes |
//! | [`MPI_Status`] | the struct of a status | yes |
//! | [`ABI`], [`NAMED_FIRST`] | what the library says of itself | yes |
//! | [`SPLIT_TYPES`] | how communicators are split beyond the standard | yes |
//! | [`fortran`] | what a library for Fortran asks for beside functions | yes |
//! | [`cplusplus`] | what a library for C++ asks for beside functions | yes |
//!
//! What the calls do is in `canele-mpi-c`, once for all ABIs.
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

/// What the library says of its interface.
pub const ABI: &str = "standard ABI 1.0";

/// The ABI as `mpicc -abi=` names it.
pub const ABI_OPTION: &str = "standard";

/// What the answer of `MPI_Get_library_version` begins with: the library's own name, as of every library with this ABI.
pub const NAMED_FIRST: &str = "";

/// Split types that the standard lacks, with the resources that they name: none.
pub const SPLIT_TYPES: &[(core::ffi::c_int, &str)] = &[];

/// What a handle is, but for files.
pub type HandleNumber = usize;
/// What a handle of a file is.
pub type FileNumber = usize;

/// What a program sees of a handle with this value: the value.
#[inline(always)]
pub const fn in_program(value: usize) -> HandleNumber {
    value
}

/// The same of a file's handle.
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
