//! Data transfer between memory and a file by one process.
//!
//! ```text
//!   memory ──(in place, or packed piece by piece)──▶ a piece of the stream ──▶ its extents in the file:
//!                                                    one pwrite each, or a sieved write (`sieved`)
//!   memory ◀── unpacked ── a piece of the stream ◀── its extents: one pread each, or one pread for many
//! ```
//! A signal is no error. If the system transfers only a part, the rest is transferred by another call. Data
//! written before an error stays.

use rustix::io::{self, Errno, retry_on_intr};

use canele_sys::file_lock::LockKind;

use super::File;
use super::access::Access;
use super::extents::{Extent, Tiles};
use super::hints::Use;
use super::lock::RangeLock;
use crate::Result;

/// Number of bytes that are packed at once.
const PIECE: usize = 1 << 20;
/// Extents that are longer on average are read one by one.
const LONG_STRETCH: usize = 64 << 10;
/// A system call costs about as much as reading this many bytes from the page cache. So shorter gaps are read
/// as well.
const CALL_BYTES: usize = 4 << 10;
/// Sieving saves time if at least one byte in this many is written.
const SPARSE: usize = 16;

impl File {
    /// Writes the data of an access; returns the number of bytes written.
    pub(super) fn write_stream(&self, access: &mut Access) -> Result<usize> {
        let manner = WriteManner::of(self, access);
        let Access { memory, view, start, len, .. } = access;
        let piece = if memory.is_contiguous() { usize::MAX } else { PIECE };
        let (mut scratch, mut sieve) = (Vec::new(), Vec::new());
        let mut done = 0;
        while done < *len {
            let n = piece.min(*len - done);
            let bytes = memory.bytes_at(done, n, &mut scratch)?;
            match manner {
                WriteManner::Sieved { window } => {
                    self.write_sieved(&view.tiles, *start + done, bytes, window, &mut sieve)?;
                }
                WriteManner::Stretches { locked } => {
                    for extent in view.tiles.extents(*start + done, n) {
                        let at = extent.at - *start - done;
                        let _lock = self.lock_if(locked, LockKind::Exclusive, extent.offset, extent.end())?;
                        self.write_all(&bytes[at..at + extent.len], extent.offset)?;
                    }
                }
            }
            done += n;
        }
        Ok(done)
    }

    /// Reads the data of an access; returns the number of bytes before the end of the file.
    pub(super) fn read_stream(&self, access: &mut Access) -> Result<usize> {
        let (start, len) = (access.start, access.len);
        let sieves = access.is_ordered() && sieves_reads(&access.view.tiles, access.hints.ds_read);
        let window = access.hints.ind_rd_buffer_size;
        let piece = if access.memory.is_contiguous() { usize::MAX } else { PIECE };
        let (mut scratch, mut sieve) = (Vec::new(), Sieve::default());
        let mut done = 0;
        while done < len {
            let n = piece.min(len - done);
            let tiles = &access.view.tiles;
            let mut read = |into: &mut [u8]| {
                if sieves {
                    self.read_sieved(tiles, start + done, into, window, &mut sieve)
                } else {
                    self.read_stretches(tiles, start + done, into)
                }
            };
            let got = match access.memory.room_at(done, n) {
                Some(room) => read(room)?,
                None => {
                    scratch.resize(n, 0);
                    let got = read(&mut scratch)?;
                    access.memory.store(done, &scratch[..got])?;
                    got
                }
            };
            done += got;
            if got < n {
                break;
            }
        }
        Ok(done)
    }

    /// Reads extents one by one.
    fn read_stretches(&self, tiles: &Tiles, start: usize, into: &mut [u8]) -> Result<usize> {
        for extent in tiles.extents(start, into.len()) {
            let at = extent.at - start;
            let got = self.read_full(&mut into[at..at + extent.len], extent.offset)?;
            if got < extent.len {
                return Ok(at + got);
            }
        }
        Ok(into.len())
    }

    /// Reads extents from windows that span many of them.
    fn read_sieved(
        &self,
        tiles: &Tiles,
        start: usize,
        into: &mut [u8],
        window: usize,
        sieve: &mut Sieve,
    ) -> Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        let end = tiles.offset_of(start + into.len() - 1) + 1;
        for extent in tiles.extents(start, into.len()) {
            let mut done = 0;
            while done < extent.len {
                let offset = extent.offset + done as u64;
                if !sieve.has(offset) {
                    let len = (end - offset).min(window as u64) as usize;
                    sieve.bytes.resize(len, 0);
                    sieve.offset = offset;
                    sieve.filled = self.read_full(&mut sieve.bytes, offset)?;
                }
                let rest = Extent { offset, at: 0, len: extent.len - done };
                let found = sieve.part(&rest);
                let at = extent.at - start + done;
                into[at..at + found.len()].copy_from_slice(found);
                done += found.len();
                if found.is_empty() {
                    return Ok(at);
                }
            }
        }
        Ok(into.len())
    }

    /// Writes all bytes.
    pub(super) fn write_all(&self, bytes: &[u8], offset: u64) -> Result<()> {
        let (mut left, mut at) = (bytes, offset);
        while !left.is_empty() {
            let written = retry_on_intr(|| io::pwrite(&self.descriptor, left, at)).and_then(|n| match n {
                0 => Err(Errno::IO),
                n => Ok(n),
            });
            match written {
                Ok(n) => {
                    left = &left[n..];
                    at += n as u64;
                }
                Err(errno) => {
                    return Err(self.failed(errno, &format!("write {} bytes at {at} of", left.len())));
                }
            }
        }
        Ok(())
    }

    /// Reads up to the end of the buffer or of the file; returns the number of bytes.
    pub(super) fn read_full(&self, bytes: &mut [u8], offset: u64) -> Result<usize> {
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            match retry_on_intr(|| io::pread(&self.descriptor, &mut bytes[done..], at)) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(errno) => {
                    let len = bytes.len() - done;
                    return Err(self.failed(errno, &format!("read {len} bytes at {at} of")));
                }
            }
        }
        Ok(done)
    }

    /// Locks a range if `wanted` is true.
    pub(super) fn lock_if(
        &self,
        wanted: bool,
        kind: LockKind,
        start: u64,
        end: u64,
    ) -> Result<Option<RangeLock<'_>>> {
        if wanted { self.lock(kind, start, end).map(Some) } else { Ok(None) }
    }
}

/// A window of a file in memory.
#[derive(Default)]
struct Sieve {
    offset: u64,
    bytes: Vec<u8>,
    /// Number of bytes before the end of the file.
    filled: usize,
}

impl Sieve {
    /// Returns true if the window covers this offset of the file.
    fn has(&self, offset: u64) -> bool {
        offset >= self.offset && offset - self.offset < self.bytes.len() as u64
    }

    /// Returns the bytes of an extent that begins in the window.
    fn part(&self, extent: &Extent) -> &[u8] {
        let from = ((extent.offset - self.offset) as usize).min(self.filled);
        &self.bytes[from..self.filled.min(from.saturating_add(extent.len))]
    }
}

/// The way in which the extents of an access are written.
#[derive(Clone, Copy)]
enum WriteManner {
    /// One by one, each under a lock if other members sieve.
    Stretches { locked: bool },
    /// Merged into windows of the file that are read first.
    Sieved { window: usize },
}

impl WriteManner {
    fn of(file: &File, access: &Access) -> Self {
        let tiles = &access.view.tiles;
        let pays = !tiles.is_dense() && tiles.mean_len() < LONG_STRETCH && tiles.density_at_least(SPARSE);
        // In atomic mode the whole range is locked already.
        if !file.sieves_writes(&access.hints) || access.atomic {
            Self::Stretches { locked: false }
        } else if pays && access.is_ordered() {
            Self::Sieved { window: access.hints.ind_wr_buffer_size }
        } else {
            Self::Stretches { locked: true }
        }
    }
}

fn sieves_reads(tiles: &Tiles, hint: Use) -> bool {
    match hint {
        _ if tiles.is_dense() => false,
        Use::Enable => true,
        Use::Disable => false,
        Use::Automatic => tiles.mean_len() < LONG_STRETCH && tiles.mean_gap() < CALL_BYTES,
    }
}
