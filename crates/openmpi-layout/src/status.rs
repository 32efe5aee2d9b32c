//! `MPI_Status` of Open MPI's ABI.

use core::ffi::c_int;

use crate::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS};

/// The struct of the ABI: three public numbers, and two internal ones.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_snake_case)] // The names are the ABI's.
pub struct MPI_Status {
    /// The source of the message.
    pub MPI_SOURCE: c_int,
    /// Its tag.
    pub MPI_TAG: c_int,
    /// The code of the operation, for calls that complete several.
    pub MPI_ERROR: c_int,
    /// The cancelled flag.
    pub cancelled: c_int,
    /// The length in bytes.
    pub count: usize,
}

const _: () = assert!(size_of::<MPI_Status>() == 24);

impl MPI_Status {
    /// The empty status.
    pub const EMPTY: Self = Self {
        MPI_SOURCE: MPI_ANY_SOURCE,
        MPI_TAG: MPI_ANY_TAG,
        MPI_ERROR: MPI_SUCCESS,
        cancelled: 0,
        count: 0,
    };

    /// Returns the number of received bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.count as u64
    }

    /// Returns true if the operation was cancelled.
    #[inline]
    pub fn cancelled(&self) -> bool {
        self.cancelled != 0
    }

    /// Sets the length and the cancelled flag.
    #[inline(always)]
    pub fn set_outcome(&mut self, bytes: u64, cancelled: bool) {
        self.count = bytes as usize;
        self.cancelled = c_int::from(cancelled);
    }
}
