//! `MPI_Status` (MPI 5.0, §20.2): three public numbers, and five of the library's own.

use core::ffi::c_int;

use canele_mpi::{Origin, Status};

use crate::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_PROC_NULL, MPI_SUCCESS};
use crate::handle::MPI_Comm;

/// The struct of the ABI.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(non_snake_case)] // The names are the ABI's.
pub struct MPI_Status {
    /// Who sent the message.
    pub MPI_SOURCE: c_int,
    /// Its tag.
    pub MPI_TAG: c_int,
    /// The code of the operation, where a call gives several.
    pub MPI_ERROR: c_int,
    /// Bytes, as two halves, the lower first; then whether it was cancelled.
    pub MPI_internal: [c_int; 5],
}

impl MPI_Status {
    /// Of an operation of which nothing is to be known.
    pub const EMPTY: Self = Self {
        MPI_SOURCE: MPI_ANY_SOURCE,
        MPI_TAG: MPI_ANY_TAG,
        MPI_ERROR: MPI_SUCCESS,
        MPI_internal: [0; 5],
    };

    /// Bytes received.
    pub fn bytes(&self) -> u64 {
        u64::from(self.MPI_internal[0] as u32) | u64::from(self.MPI_internal[1] as u32) << 32
    }

    /// Sets it.
    #[inline]
    pub fn set_bytes(&mut self, bytes: u64) {
        self.MPI_internal[0] = bytes as u32 as c_int;
        self.MPI_internal[1] = (bytes >> 32) as c_int;
    }

    /// Whether the operation was cancelled.
    pub fn cancelled(&self) -> bool {
        self.MPI_internal[2] != 0
    }

    /// Sets it.
    pub fn set_cancelled(&mut self, cancelled: bool) {
        self.MPI_internal[2] = c_int::from(cancelled);
    }
}

impl From<MPI_Status> for Status {
    /// What the program wrote; numbers that are no ranks or tags stay what they are.
    fn from(of: MPI_Status) -> Self {
        let source = match of.MPI_SOURCE {
            MPI_ANY_SOURCE => Origin::Nobody,
            MPI_PROC_NULL => Origin::NoProcess,
            rank => Origin::Rank(rank as u32 as usize),
        };
        let tag = (of.MPI_TAG != MPI_ANY_TAG).then_some(of.MPI_TAG as u32);
        Self { source, tag, bytes: of.bytes() as usize, cancelled: of.cancelled() }
    }
}

/// What a message got that has ended well.
#[derive(Clone, Copy)]
pub enum Got {
    /// There was none.
    Nothing,
    /// It was a send.
    Sent,
    /// This.
    Ended(Status),
    /// On this communicator.
    Received(MPI_Comm, canele_engine::Status),
}

/// Where a status goes; null means that it is not wanted.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct StatusOut(*mut MPI_Status);

impl StatusOut {
    /// No status is wanted.
    pub const NONE: Self = Self(core::ptr::null_mut());

    /// Stores what is known of an operation; the error code is left as it was (MPI 5.0, §3.2.5).
    #[inline]
    pub fn set(self, of: Status) {
        self.set_at(0, of);
    }

    /// Stores that there is nothing to be known: there was no operation (MPI 5.0, §3.7.3).
    pub fn set_empty(self) {
        self.set_empty_at(0);
    }

    /// The same in an array.
    pub fn set_empty_at(self, at: usize) {
        if !self.0.is_null() {
            // SAFETY: not null: a place for a status, or an array of as many as the call has operations.
            unsafe { self.0.add(at).write(MPI_Status::EMPTY) };
        }
    }

    /// Stores it in an array.
    pub fn set_at(self, at: usize, of: Status) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: not null: a place for a status, or an array of as many as the call has operations.
        let to = unsafe { &mut *self.0.add(at) };
        to.MPI_SOURCE = match of.source {
            Origin::Nobody => MPI_ANY_SOURCE,
            Origin::NoProcess => MPI_PROC_NULL,
            Origin::Rank(rank) => rank as c_int,
        };
        to.MPI_TAG = of.tag.map_or(MPI_ANY_TAG, |tag| tag as c_int);
        to.set_bytes(of.bytes as u64);
        to.set_cancelled(of.cancelled);
    }

    /// Stores in an array what a message got.
    #[inline]
    pub fn set_got_at(self, at: usize, got: Got) {
        if self.0.is_null() {
            return;
        }
        match got {
            Got::Nothing => self.set_empty_at(at),
            Got::Sent => self.set_at(at, Status::EMPTY),
            Got::Ended(status) => self.set_at(at, status),
            Got::Received(comm, of) => {
                self.set_at(at, comm.get().map_or(Status::EMPTY, |comm| comm.status(of)))
            }
        }
    }

    /// Stores the error code of one operation of several.
    pub fn set_error_at(self, at: usize, code: c_int) {
        if !self.0.is_null() {
            // SAFETY: as above.
            unsafe { (*self.0.add(at)).MPI_ERROR = code }
        }
    }

    /// Stores what a blocking receive got.
    #[inline(always)]
    pub fn set_received(self, source: c_int, tag: c_int, bytes: usize) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: not null: a place for a status.
        let to = unsafe { &mut *self.0 };
        (to.MPI_SOURCE, to.MPI_TAG) = (source, tag);
        to.set_bytes(bytes as u64);
        to.set_cancelled(false);
    }

    /// Whether it is wanted.
    #[inline(always)]
    pub fn is_wanted(self) -> bool {
        !self.0.is_null()
    }
}
