//! Sealed files: bytes that one process writes once and others read, in a file without a name (memfd) that no
//! process can change.
//!
//! Unlike a [`Segment`](crate::segment::Segment) such a file is read, never mapped, and has any length.
//! Readers check the seals, so they read exactly the bytes that were written.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{SealFlags, fcntl_add_seals, fcntl_get_seals};
use rustix::io::Errno;

use crate::segment::create_memfd;

const SEALS: SealFlags =
    SealFlags::WRITE.union(SealFlags::SHRINK).union(SealFlags::GROW).union(SealFlags::SEAL);

/// Creates a sealed file with `bytes`. `name` shows in `/proc/…/fd`.
///
/// # Errors
/// Fails as memfd_create(2) and write(2) do.
pub fn write(name: &str, bytes: &[u8]) -> io::Result<OwnedFd> {
    let mut file = File::from(create_memfd(name)?);
    file.write_all(bytes)?;
    fcntl_add_seals(&file, SEALS)?;
    Ok(file.into())
}

/// Reads a sealed file of at most `most_bytes`. Processes that share the descriptor may read at the same
/// time.
///
/// # Errors
/// Fails as read(2) does; `InvalidData` if the file is longer, or is not sealed.
pub fn read(descriptor: OwnedFd, most_bytes: u64) -> io::Result<Vec<u8>> {
    let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let sealed = match fcntl_get_seals(descriptor.as_fd()) {
        Ok(seals) => seals,
        Err(Errno::INVAL) => SealFlags::empty(), // not a memfd at all
        Err(errno) => return Err(errno.into()),
    };
    if !sealed.contains(SEALS) {
        return Err(invalid(format!("a file without the seals {:?}", SEALS.difference(sealed))));
    }
    let file = File::from(descriptor);
    let length = file.metadata()?.len();
    if length > most_bytes {
        return Err(invalid(format!("a file of {length} bytes, the limit is {most_bytes}")));
    }
    let mut bytes = vec![0; length as usize];
    // All readers share the position in the file, so no reader uses it.
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_and_cannot_be_changed() {
        let file = write("test", b"bytes").unwrap();
        for _ in 0..2 {
            assert_eq!(read(file.try_clone().unwrap(), 5).unwrap(), b"bytes");
        }
        assert_eq!(rustix::io::pwrite(&file, b"x", 0), Err(Errno::PERM));
        assert_eq!(rustix::io::pwrite(&file, b"x", 5), Err(Errno::PERM));
        assert_eq!(rustix::fs::ftruncate(&file, 1), Err(Errno::PERM));
        assert_eq!(fcntl_add_seals(&file, SealFlags::GROW), Err(Errno::PERM));
        assert_eq!(read(file, 4).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_file_that_could_change_is_refused() {
        let open = create_memfd("test").unwrap();
        assert_eq!(read(open, 100).unwrap_err().kind(), io::ErrorKind::InvalidData);
        let half = create_memfd("test").unwrap();
        fcntl_add_seals(&half, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).unwrap();
        assert!(read(half, 100).unwrap_err().to_string().contains("WRITE"));
        let plain = OwnedFd::from(File::open("/proc/self/exe").unwrap());
        assert_eq!(read(plain, u64::MAX).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
