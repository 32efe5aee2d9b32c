//! Reads whole files of unknown length: a device or a pipe has no end.
//!
//! Owns the bound. Never reads more than one byte beyond it.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;

/// The longest file of settings, in bytes: hosts, places of ranks, commands, keys.
pub const MOST_SETTINGS: u64 = 16 << 20;
/// The longest file of the kernel that is read, in bytes: the mappings of a large process.
const MOST_KERNEL: u64 = 64 << 20;
/// The longest file that describes something large, in bytes: a network, saved results, a matrix.
pub const MOST_DATA: u64 = 1 << 30;

/// Opens a file that is neither a device nor a pipe. Those may have no end, and opening a pipe waits for a
/// writer.
///
/// # Errors
/// Fails as open(2) does; the kind is `InvalidInput` for a device or pipe.
pub fn open_plain(path: impl AsRef<Path>) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no plain file")),
    }
}

/// Reads a file of at most `most` bytes.
///
/// # Errors
/// Fails as open(2) and read(2) do; the kind is `FileTooLarge`, with the limit, for a longer file.
pub fn read(path: impl AsRef<Path>, most: u64) -> io::Result<Vec<u8>> {
    read_all(File::open(path)?, most)
}

/// Reads a file of at most `most` bytes of text.
///
/// # Errors
/// Fails as [`read`] does; the kind is `InvalidData` if the file is not UTF-8.
pub fn read_text(path: impl AsRef<Path>, most: u64) -> io::Result<String> {
    text(read(path, most)?)
}

/// Returns bytes that were read as text.
///
/// # Errors
/// The kind is `InvalidData` if the bytes are not UTF-8.
pub fn text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8"))
}

/// Reads a file of the kernel, such as `/proc/PID/stat`. Names in it may hold any bytes; bytes that are not
/// UTF-8 become replacement characters.
///
/// # Errors
/// Fails as [`read`] does.
pub fn read_kernel(path: impl AsRef<Path>) -> io::Result<String> {
    let bytes = read(path, MOST_KERNEL)?;
    Ok(String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// Reads a stream of at most `most` bytes to its end.
///
/// # Errors
/// Fails as [`read`] does.
pub fn read_all(stream: impl Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    Bounded::new(stream, most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A stream that fails beyond a number of bytes, for readers that parse a stream while they read it.
#[derive(Debug)]
pub struct Bounded<R> {
    stream: R,
    most: u64,
    left: u64,
}

impl<R: Read> Bounded<R> {
    /// Returns a stream of at most `most` bytes of `stream`.
    pub fn new(stream: R, most: u64) -> Bounded<R> {
        Bounded { stream, most, left: most }
    }
}

impl<R: Read> Read for Bounded<R> {
    /// Reads from the stream; fails as [`read_all`] does if the stream goes on beyond the bound.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !buffer.is_empty() {
            return match self.stream.read(&mut [0])? {
                0 => Ok(0),
                _ => Err(too_long(self.most)),
            };
        }
        let room = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let count = self.stream.read(&mut buffer[..room])?;
        self.left -= count as u64;
        Ok(count)
    }
}

fn too_long(most: u64) -> io::Error {
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is longer than the limit of {}", Size(most)))
}

/// A limit in bytes, displayed with a unit.
struct Size(u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => write!(f, "{} MiB", bytes >> 20),
            bytes if bytes >= 1 << 10 && bytes % (1 << 10) == 0 => write!(f, "{} KiB", bytes >> 10),
            bytes => write!(f, "{bytes} bytes"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_is_refused_with_the_limit() {
        let error = read_text("/dev/zero", 1 << 20).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "it is longer than the limit of 1 MiB");
    }

    #[test]
    fn a_pipe_without_a_writer_is_not_waited_for() {
        let path = std::env::temp_dir().join(format!("canele-pipe-{}", std::process::id()));
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        let kind = |path: &Path| open_plain(path).map(drop).map_err(|error| error.kind());
        assert_eq!(kind(&path), Err(io::ErrorKind::InvalidInput));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(kind(Path::new("/dev/zero")), Err(io::ErrorKind::InvalidInput));
        assert_eq!(kind(Path::new("/proc/self/exe")), Ok(()));
    }

    #[test]
    fn names_of_processes_need_not_be_text() {
        let renamed = std::thread::spawn(|| {
            let name = std::ffi::CString::new(b"a\xffb".to_vec()).unwrap();
            rustix::thread::set_name(&name).unwrap();
            read_kernel("/proc/thread-self/stat").unwrap()
        });
        assert!(renamed.join().unwrap().contains("(a\u{fffd}b) "));
    }

    #[test]
    fn a_file_may_be_as_long_as_the_limit() {
        assert_eq!(read_all(&b"abcd"[..], 4).unwrap(), b"abcd");
        assert!(read_all(&b"abcde"[..], 4).unwrap_err().to_string().ends_with("4 bytes"));
        let error = read_text("/proc/self/exe", MOST_DATA).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
