//! `MPI_Status`: conversion between the status of an operation and the struct of the ABI.

use core::ffi::c_int;

use canele_mpi::{Comm, Error, Origin, Status};
pub use layout::MPI_Status;

use crate::constants::{MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_PROC_NULL, MPI_STATUS_IGNORE};
use crate::error::CallResult;
use crate::handle::{MPI_Comm, ObjectHandle};
use crate::pointer::{In, Out};

/// Returns the status that the program has written; numbers that are no valid ranks or tags are preserved.
pub fn read_status(of: MPI_Status) -> Status {
    let source = match of.MPI_SOURCE {
        MPI_ANY_SOURCE => Origin::Unknown,
        MPI_PROC_NULL => Origin::NoProcess,
        rank => Origin::Rank(rank as u32 as usize),
    };
    let tag = (of.MPI_TAG != MPI_ANY_TAG).then_some(of.MPI_TAG as u32);
    Status { source, tag, bytes: of.bytes() as usize, cancelled: of.cancelled() }
}

/// The result of a successful message.
#[derive(Clone, Copy)]
pub enum Got {
    /// There was no message, as for a null handle.
    Nothing,
    /// The message was a send.
    Sent,
    /// The request has ended with this status.
    Ended(Status),
    /// A message received on this communicator.
    Received(MPI_Comm, canele_engine::Status),
}

/// The place of a status; `MPI_STATUS_IGNORE` and null mean that it is not wanted.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct StatusOut(*mut MPI_Status);

impl StatusOut {
    /// A status that is not wanted.
    pub const NONE: Self = Self(core::ptr::null_mut());

    /// Stores the status of an operation; the error code does not change (MPI 5.0, §3.2.5).
    #[inline]
    pub fn set(self, of: Status) {
        self.set_at(0, of);
    }

    /// Stores the source and tag of the message of a failed receive, if they are known, and its length if it
    /// was too long. The rest of the status does not change.
    #[cold]
    pub fn set_failed(self, comm: Option<&Comm>, error: &Error) {
        self.set_failed_at(0, comm, error);
    }

    /// Stores the status of a failed receive in an array ([`Self::set_failed`]).
    #[cold]
    pub fn set_failed_at(self, at: usize, comm: Option<&Comm>, error: &Error) {
        if let Some((comm, message)) = comm.zip(error.message) {
            self.set_at(at, comm.status(message));
        }
    }

    /// Stores the empty status, if there was no operation (MPI 5.0, §3.7.3).
    pub fn set_empty(self) {
        self.set_empty_at(0);
    }

    /// Stores the empty status in an array.
    pub fn set_empty_at(self, at: usize) {
        if self.is_wanted() {
            // SAFETY: wanted: a place for a status, or an array of as many as the call has operations.
            unsafe { self.0.add(at).write(MPI_Status::EMPTY) };
        }
    }

    /// Stores the status of an operation in an array.
    pub fn set_at(self, at: usize, of: Status) {
        if !self.is_wanted() {
            return;
        }
        // SAFETY: wanted: a place for a status, or an array of as many as the call has operations.
        let to = unsafe { &mut *self.0.add(at) };
        to.MPI_SOURCE = match of.source {
            Origin::Unknown => MPI_ANY_SOURCE,
            Origin::NoProcess => MPI_PROC_NULL,
            Origin::Rank(rank) => rank as c_int,
        };
        to.MPI_TAG = of.tag.map_or(MPI_ANY_TAG, |tag| tag as c_int);
        to.set_outcome(of.bytes as u64, of.cancelled);
    }

    /// Stores the result of a message in an array.
    #[inline]
    pub fn set_got_at(self, at: usize, got: Got) {
        if !self.is_wanted() {
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
        if self.is_wanted() {
            // SAFETY: as above.
            unsafe { (*self.0.add(at)).MPI_ERROR = code }
        }
    }

    /// Stores the result of a blocking receive.
    #[inline(always)]
    pub fn set_received(self, source: c_int, tag: c_int, bytes: usize) {
        if !self.is_wanted() {
            return;
        }
        // SAFETY: wanted: a place for a status.
        let to = unsafe { &mut *self.0 };
        (to.MPI_SOURCE, to.MPI_TAG) = (source, tag);
        to.set_outcome(bytes as u64, false);
    }

    /// Returns true if the status is wanted.
    #[inline(always)]
    pub fn is_wanted(self) -> bool {
        self.0.addr() > MPI_STATUS_IGNORE
    }
}

/// `MPI_Status_c2f` and the corresponding functions, for an ABI in which all forms of a status are equal.
pub fn copy(from: In<MPI_Status>, to: Out<MPI_Status>) -> CallResult {
    Ok(to.set(from.slice(1, "from")?[0], "to")?)
}
