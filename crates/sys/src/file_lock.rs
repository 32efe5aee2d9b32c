//! Locks on ranges of a file that belong to an open file description. Threads and processes that opened the
//! file themselves exclude each other, and the kernel releases the locks of a dead process.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The kind of a lock, which says which other locks it excludes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockKind {
    /// Excludes exclusive locks; the descriptor must be open for reading.
    Shared,
    /// Excludes all other locks; the descriptor must be open for writing.
    Exclusive,
}

/// Waits until `len` bytes from `start` on can be locked, and locks them.
///
/// # Errors
/// Fails if the descriptor does not permit it, or the file system has no locks.
pub fn lock(descriptor: BorrowedFd<'_>, kind: LockKind, start: u64, len: u64) -> io::Result<()> {
    let kind = match kind {
        LockKind::Shared => libc::F_RDLCK,
        LockKind::Exclusive => libc::F_WRLCK,
    };
    set(descriptor, kind, start, len)
}

/// Releases the locks of this descriptor on `len` bytes from `start` on.
///
/// # Errors
/// Fails if the descriptor is not open.
pub fn unlock(descriptor: BorrowedFd<'_>, start: u64, len: u64) -> io::Result<()> {
    set(descriptor, libc::F_UNLCK, start, len)
}

fn set(descriptor: BorrowedFd<'_>, kind: libc::c_int, start: u64, len: u64) -> io::Result<()> {
    // SAFETY: a struct of numbers, for which zeros are values.
    let mut range: libc::flock = unsafe { std::mem::zeroed() };
    range.l_type = kind as libc::c_short;
    range.l_whence = libc::SEEK_SET as libc::c_short;
    range.l_start = i64::try_from(start).map_err(|_| io::ErrorKind::InvalidInput)?;
    range.l_len = i64::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
    loop {
        // SAFETY: the descriptor is open as long as it is borrowed; the kernel reads the struct, which lives
        // during the call.
        let done = unsafe { libc::fcntl(descriptor.as_raw_fd(), libc::F_OFD_SETLKW, &raw const range) };
        if done == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::os::fd::AsFd;

    #[test]
    fn exclusive_locks_keep_out_others_of_the_same_bytes() {
        let path = std::env::temp_dir().join(format!("canele-lock-{}", std::process::id()));
        let open =
            || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path).unwrap();
        let (one, other) = (open(), open());
        std::fs::remove_file(&path).unwrap();
        lock(one.as_fd(), LockKind::Shared, 0, 10).unwrap();
        lock(other.as_fd(), LockKind::Shared, 5, 10).unwrap();
        unlock(other.as_fd(), 5, 10).unwrap();
        lock(one.as_fd(), LockKind::Exclusive, 0, 10).unwrap();
        lock(other.as_fd(), LockKind::Exclusive, 10, 10).unwrap();
        // Another description of these bytes waits until they are released.
        let waiting = std::thread::spawn(move || {
            lock(other.as_fd(), LockKind::Exclusive, 0, 10).unwrap();
        });
        std::thread::yield_now();
        unlock(one.as_fd(), 0, 10).unwrap();
        waiting.join().unwrap();
    }
}
