//! Locks on ranges of a file, which make an access appear as one step to all others that take them (MPI 5.0, §14.6.1).
//!
//! The system's locks exclude other members, but not threads that share the descriptor: one of them at a time holds locks.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{MutexGuard, PoisonError};

use canele_sys::file_lock::{self, LockKind};

use super::File;
use crate::Result;

/// A range that is locked as long as this lives.
pub(super) struct RangeLock<'a> {
    descriptor: BorrowedFd<'a>,
    start: u64,
    len: u64,
    /// Released after the lock of the system.
    _thread: MutexGuard<'a, ()>,
}

impl File {
    /// Waits for a lock on a range; a shared one keeps out exclusive ones alone.
    pub(super) fn lock(&self, kind: LockKind, start: u64, end: u64) -> Result<RangeLock<'_>> {
        let thread = self.locking.lock().unwrap_or_else(PoisonError::into_inner);
        let (descriptor, len) = (self.descriptor.as_fd(), end.saturating_sub(start).max(1));
        file_lock::lock(descriptor, kind, start, len).map_err(|error| {
            let errno = rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO);
            self.failed(errno, &format!("lock {len} bytes at {start} of"))
        })?;
        Ok(RangeLock { descriptor, start, len, _thread: thread })
    }
}

impl Drop for RangeLock<'_> {
    fn drop(&mut self) {
        // A descriptor that is no longer locked needs nothing.
        let _ = file_lock::unlock(self.descriptor, self.start, self.len);
    }
}
