//! Reads and writes of a file in memory that is known by its address: memory that other processes may access, too, to which there are no
//! references.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Writes `len` bytes from `from` on, whatever signals come.
///
/// # Errors
/// The system fails; what was written before stays.
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

/// Reads up to `len` bytes to `to`, whatever signals come; fewer at the end of the file. Says how many.
///
/// # Errors
/// The system fails.
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

/// The bytes that a call moved; nothing if a signal came.
fn moved(n: isize) -> io::Result<Option<usize>> {
    match usize::try_from(n) {
        Ok(n) => Ok(Some(n)),
        Err(_) => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            error => Err(error),
        },
    }
}
