//! `MPI_Status` of the standard ABI (§20.2).

use core::ffi::c_int;

use crate::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS};

/// The struct of the ABI: three public numbers, and five internal ones.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_snake_case)] // The names are the ABI's.
pub struct MPI_Status {
    /// The source of the message.
    pub MPI_SOURCE: c_int,
    /// The tag of the message.
    pub MPI_TAG: c_int,
    /// The code of the operation, for calls that complete several.
    pub MPI_ERROR: c_int,
    /// The length in bytes as two halves, the lower first; then the cancelled flag.
    pub MPI_internal: [c_int; 5],
}

impl MPI_Status {
    /// The empty status.
    pub const EMPTY: Self = Self {
        MPI_SOURCE: MPI_ANY_SOURCE,
        MPI_TAG: MPI_ANY_TAG,
        MPI_ERROR: MPI_SUCCESS,
        MPI_internal: [0; 5],
    };

    /// Returns the number of received bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        u64::from(self.MPI_internal[0] as u32) | u64::from(self.MPI_internal[1] as u32) << 32
    }

    /// Returns true if the operation was cancelled.
    #[inline]
    pub fn cancelled(&self) -> bool {
        self.MPI_internal[2] != 0
    }

    /// Sets the length and the cancelled flag.
    #[inline(always)]
    pub fn set_outcome(&mut self, bytes: u64, cancelled: bool) {
        self.MPI_internal[0] = bytes as u32 as c_int;
        self.MPI_internal[1] = (bytes >> 32) as c_int;
        self.MPI_internal[2] = c_int::from(cancelled);
    }
}
