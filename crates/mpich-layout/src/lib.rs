//! What programs see in memory of MPICH's ABI, which Intel MPI and others share: handles are numbers of C, whose highest two bits tell constants
//! from objects.
//!
//! ```text
//!   constant:  01 or 10 (2 bits) | kind (4 bits) | number of the kind, for datatypes with their size (26 bits)
//!   null:      00                | kind          | 0
//!   object:    00                | generation and index of the table of handles, whose index 0 names nothing
//! ```
//! This crate has the items of `canele-mpi-layout`, which says what each of them is; the files that do not differ are those of that crate.
#![forbid(unsafe_code)]
#![allow(non_camel_case_types)] // The names of types are the standard's.

#[path = "../../mpi-layout/src/constants.rs"]
pub mod constants;
#[path = "../../mpi-layout/src/cplusplus.rs"]
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

/// What the library says of its interface.
pub const ABI: &str = "MPICH ABI 12";

/// The ABI as `mpicc -abi=` names it.
pub const ABI_OPTION: &str = "mpich";

/// What the answer of `MPI_Get_library_version` begins with: MPICH's, of the newest release whose ABI this is. Programs that were built for several
/// implementations (mpi4py, MPI.jl, NGSolve, Boost) tell by it which values constants have.
pub const NAMED_FIRST: &str = "MPICH Version:\t5.0.2\n";

/// Split types that the standard lacks, with the resources that they name: none.
pub const SPLIT_TYPES: &[(core::ffi::c_int, &str)] = &[];

/// What a handle is, but for files, whose handles are pointers.
pub type HandleNumber = u32;
/// What a handle of a file is.
pub type FileNumber = usize;

/// What a program sees of a handle with this value: the value.
#[inline(always)]
pub const fn in_program(value: usize) -> HandleNumber {
    value as u32
}

/// The same of a file's handle.
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

/// Returns the row of a constant in the table of handles; nothing for other values. The row's bits are the kind, then whether it is a pair of
/// value and index, then the last bits of the constant's number.
#[inline(always)]
pub const fn constant_row(value: usize) -> Option<usize> {
    if value >> 30 == 0 || value >> 32 != 0 {
        return None;
    }
    Some((value >> 26 & 0xf) << 8 | (value >> 31) << 7 | value & 0x7f)
}

/// Returns what tells the constant of a row from other values that lead there.
#[inline(always)]
pub const fn constant_mark(value: usize) -> u32 {
    (value >> 8) as u32
}
