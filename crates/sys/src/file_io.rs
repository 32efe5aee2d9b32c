//! Reads and writes of a file to and from memory that is known by its address. Other processes may access the
//! memory, too, so there are no references to it.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Writes `len` bytes from `from` on; restarts after signals.
///
/// # Errors
/// Fails if the system does; bytes that were written before stay.
///
/// # Safety
/// The bytes can be read during the call.
pub unsafe fn write_all(file: BorrowedFd<'_>, from: *const u8, len: usize, offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < len {
        let at = place(offset, done)?;
        // SAFETY: as the caller says; the kernel reads the bytes.
        let n = unsafe { libc::pwrite(file.as_raw_fd(), from.add(done).cast(), len - done, at) };
        match moved(n)? {
            Some(0) => return Err(io::Error::from_raw_os_error(libc::EIO)),
            n => done += n.unwrap_or(0),
        }
    }
    Ok(())
}

/// Reads up to `len` bytes to `to`, fewer at the end of the file; restarts after signals. Returns the number
/// of bytes.
///
/// # Errors
/// Fails if the system does.
///
/// # Safety
/// The bytes can be written during the call, and nothing relies on their values.
pub unsafe fn read_full(file: BorrowedFd<'_>, to: *mut u8, len: usize, offset: u64) -> io::Result<usize> {
    let mut done = 0;
    while done < len {
        let at = place(offset, done)?;
        // SAFETY: as the caller says; the kernel writes the bytes.
        let n = unsafe { libc::pread(file.as_raw_fd(), to.add(done).cast(), len - done, at) };
        match moved(n)? {
            Some(0) => break,
            n => done += n.unwrap_or(0),
        }
    }
    Ok(done)
}

fn place(offset: u64, done: usize) -> io::Result<i64> {
    i64::try_from(offset.saturating_add(done as u64)).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Returns the number of bytes that a call moved; none if a signal interrupted it.
fn moved(n: isize) -> io::Result<Option<usize>> {
    match usize::try_from(n) {
        Ok(n) => Ok(Some(n)),
        Err(_) => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            error => Err(error),
        },
    }
}
