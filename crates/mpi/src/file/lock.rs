//! Locks on ranges of a file. They make an access atomic for all accesses that take them (MPI 5.0, §14.6.1).
//!
//! A lock of the system excludes other members, but not threads that share the descriptor. So only one thread
//! at a time holds locks.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{MutexGuard, PoisonError};

use canele_sys::file_lock::{self, LockKind};

use super::File;
use crate::Result;

/// A lock on a range, held until it is dropped.
pub(super) struct RangeLock<'a> {
    descriptor: BorrowedFd<'a>,
    start: u64,
    len: u64,
    /// Released after the system's lock.
    _thread: MutexGuard<'a, ()>,
}

impl File {
    /// Waits for a lock on a range; a shared lock excludes only exclusive locks.
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
        // Unlocking can only fail if the range is no longer locked.
        let _ = file_lock::unlock(self.descriptor, self.start, self.len);
    }
}
