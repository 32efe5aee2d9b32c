//! `MPI_Status` of MPICH's ABI.

use core::ffi::c_int;

use crate::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS};

/// The struct of the ABI: two internal numbers, and three public ones.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_snake_case)] // The names are the ABI's.
pub struct MPI_Status {
    /// The lower half of the length in bytes.
    pub count_lo: c_int,
    /// The upper half of the length, shifted left by one; the lowest bit is the cancelled flag.
    pub count_hi_and_cancelled: c_int,
    /// The source of the message.
    pub MPI_SOURCE: c_int,
    /// Its tag.
    pub MPI_TAG: c_int,
    /// The code of the operation, for calls that complete several.
    pub MPI_ERROR: c_int,
}

impl MPI_Status {
    /// The empty status.
    pub const EMPTY: Self = Self {
        count_lo: 0,
        count_hi_and_cancelled: 0,
        MPI_SOURCE: MPI_ANY_SOURCE,
        MPI_TAG: MPI_ANY_TAG,
        MPI_ERROR: MPI_SUCCESS,
    };

    /// Returns the number of received bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        u64::from(self.count_lo as u32) | u64::from(self.count_hi_and_cancelled as u32 >> 1) << 32
    }

    /// Returns true if the operation was cancelled.
    #[inline]
    pub fn cancelled(&self) -> bool {
        self.count_hi_and_cancelled & 1 != 0
    }

    /// Sets the length and the cancelled flag.
    #[inline(always)]
    pub fn set_outcome(&mut self, bytes: u64, cancelled: bool) {
        self.count_lo = bytes as u32 as c_int;
        self.count_hi_and_cancelled = ((bytes >> 32) << 1) as c_int | c_int::from(cancelled);
    }
}
