//! MPICH's ABI, which Intel MPI and others share: handles are numbers of C, whose highest two bits tell constants from objects.
//!
//! ```text
//!   constant:  01 or 10 (2 bits) | kind (4 bits) | number of the kind, for datatypes with their size (26 bits)
//!   null:      00                | kind          | 0
//!   object:    00                | generation and index of the table of handles, whose index 0 names nothing
//! ```

use core::ffi::c_int;

use crate::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS};

/// What the library says of its interface.
pub const ABI: &str = "MPICH ABI 12";

/// What the answer of `MPI_Get_library_version` begins with: MPICH's, of the newest release whose ABI this is. Programs that were built for several
/// implementations (mpi4py, MPI.jl, NGSolve, Boost) tell by it which values constants have.
pub const NAMED_FIRST: &str = "MPICH Version:\t5.0.2\n";

/// What a handle is, but for files, whose handles are pointers.
pub type HandleNumber = u32;

/// The row of a constant: kind, then whether it is a pair of value and index, then the last bits of its number.
#[inline(always)]
pub const fn constant_row(value: usize) -> Option<usize> {
    if value >> 30 == 0 || value >> 32 != 0 {
        return None;
    }
    Some((value >> 26 & 0xf) << 8 | (value >> 31) << 7 | value & 0x7f)
}

/// What tells the constant of a row from other values that lead there.
#[inline(always)]
pub const fn constant_mark(value: usize) -> u32 {
    (value >> 8) as u32
}

/// The struct of the ABI: two numbers of the library's own, and three public ones.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_snake_case)] // The names are the ABI's.
pub struct MPI_Status {
    /// The lower half of the bytes.
    pub count_lo: c_int,
    /// The upper half, one bit further up; the last bit says whether it was cancelled.
    pub count_hi_and_cancelled: c_int,
    /// Who sent the message.
    pub MPI_SOURCE: c_int,
    /// Its tag.
    pub MPI_TAG: c_int,
    /// The code of the operation, where a call gives several.
    pub MPI_ERROR: c_int,
}

impl MPI_Status {
    /// Of an operation of which nothing is to be known.
    pub const EMPTY: Self = Self {
        count_lo: 0,
        count_hi_and_cancelled: 0,
        MPI_SOURCE: MPI_ANY_SOURCE,
        MPI_TAG: MPI_ANY_TAG,
        MPI_ERROR: MPI_SUCCESS,
    };

    /// Bytes received.
    pub fn bytes(&self) -> u64 {
        u64::from(self.count_lo as u32) | u64::from(self.count_hi_and_cancelled as u32 >> 1) << 32
    }

    /// Whether the operation was cancelled.
    pub fn cancelled(&self) -> bool {
        self.count_hi_and_cancelled & 1 != 0
    }

    /// Sets both.
    #[inline(always)]
    pub fn set_outcome(&mut self, bytes: u64, cancelled: bool) {
        self.count_lo = bytes as u32 as c_int;
        self.count_hi_and_cancelled = ((bytes >> 32) << 1) as c_int | c_int::from(cancelled);
    }
}
