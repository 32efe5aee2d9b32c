//! Memory that several processes map: an anonymous file (memfd), sealed against any change of its size.
//!
//! ```text
//!   creator: memfd, sealed ──▶ descriptor over a Unix socket ──▶ peer: checks seals and size, maps
//! ```
//!
//! It has no name in any file system, and nothing is left after the last process. The size can never change,
//! so an access inside a mapping never meets the end of the file. Pages are allocated when they are first
//! touched, and a touch without free memory is fatal: callers use [`Segment::reserve`] first.
//!
//! This module never lays out the bytes, trusts a peer's descriptor, or hands out a reference to plain
//! memory, which a peer may change at any time.

use crate::memory;
use rustix::fs::SealFlags;
use rustix::io::Errno;
use std::ops::Deref;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use thiserror::Error;

mod mapping;
mod memfd;

pub use mapping::Mapping;
pub use memfd::Memfd;
pub(crate) use memfd::create_memfd;

/// The reason why a segment could not be created or used.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum SegmentError {
    /// The machine, or a control group, has not enough memory left. The user has to solve this.
    #[error(
        "{needed} bytes at offset {offset} of a shared segment cannot be reserved: {available} bytes of memory \
         are available (free memory, raise the container's memory limit, or ask for less)"
    )]
    Memory {
        /// The offset in the segment, in bytes.
        offset: usize,
        /// The number of bytes that were requested.
        needed: usize,
        /// The number of bytes that the host's account ([`memory::Account`]) had left.
        available: u64,
    },
    /// A descriptor from a peer whose file could still be resized. The peer's fault.
    #[error("the descriptor is not a segment: the seals {missing:?} are missing")]
    Unsealed {
        /// The seals that are not set.
        missing: SealFlags,
    },
    /// A size that no segment has. The peer's fault, or the caller's.
    #[error("a segment of {found} bytes, where a positive multiple of the page size was expected")]
    Size {
        /// The size found or asked for, in bytes.
        found: u64,
    },
    /// A range outside the segment. The fault of the caller, or of the peer that sent the offset.
    #[error("{len} bytes at offset {offset} lie outside a segment of {segment} bytes")]
    Outside {
        /// The offset in bytes.
        offset: usize,
        /// The length in bytes.
        len: usize,
        /// The segment's size in bytes.
        segment: usize,
    },
    /// An offset that is not aligned as its use requires. The same parties are at fault as for `Outside`.
    #[error("offset {offset} of a segment is not a multiple of {align}")]
    Misaligned {
        /// The offset in bytes.
        offset: usize,
        /// The required alignment, in bytes.
        align: usize,
    },
    /// The kernel refused.
    #[error("cannot {doing}: {error}")]
    Kernel {
        /// The action that failed.
        doing: &'static str,
        /// The kernel's error.
        error: Errno,
    },
}

/// A memfd that is mapped whole. The mapping lasts as long as the value, the memory as long as any process
/// maps it.
#[derive(Debug)]
pub struct Segment {
    mapping: Mapping,
    file: Arc<Memfd>,
}

impl Segment {
    /// Creates a segment of `bytes`, rounded up to whole pages, all zero. `name` shows in `/proc/…/maps`.
    ///
    /// # Errors
    /// Fails with `Size` if `bytes` is 0 or beyond the address space; with `Kernel` if the kernel refuses.
    pub fn create(name: &str, bytes: usize) -> Result<Segment, SegmentError> {
        Segment::whole(Memfd::create(name, bytes)?)
    }

    /// Creates a segment all of which is allocated. It asks the account first, so that a size beyond the
    /// address space is refused as too large, too.
    ///
    /// # Errors
    /// Fails with `Memory`, naming the needed and the available bytes; with `Size` if `bytes` is 0; with
    /// `Kernel`.
    pub fn create_reserved(name: &str, bytes: usize) -> Result<Segment, SegmentError> {
        let grant = granted(0, bytes)?;
        let segment = Segment::create(name, bytes)?;
        in_steps(0, segment.len(), grant, |start, bytes| segment.file.allocate(start, bytes))?;
        Ok(segment)
    }

    /// Maps a peer's segment of any size. The descriptor is not trusted.
    ///
    /// # Errors
    /// Fails as [`Memfd::check`] does; with `Kernel` if it cannot be mapped for reading and writing.
    pub fn map(descriptor: OwnedFd) -> Result<Segment, SegmentError> {
        Segment::whole(Memfd::check(descriptor)?)
    }

    fn whole(file: Memfd) -> Result<Segment, SegmentError> {
        let file = Arc::new(file);
        Ok(Segment { mapping: file.map(0, file.len())?, file })
    }

    /// Returns the descriptor by which a peer maps this memory.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.fd()
    }

    /// Returns the mapping and the file, each of which lasts without the other.
    pub fn into_parts(self) -> (Mapping, Arc<Memfd>) {
        (self.mapping, self.file)
    }

    /// Allocates `bytes` at `offset`, so that touching them later cannot fail.
    ///
    /// # Errors
    /// Fails with `Memory`, naming the needed and the available bytes; with `Outside`; with `Kernel`.
    pub fn reserve(&self, offset: usize, bytes: usize) -> Result<(), SegmentError> {
        self.mapping.check(offset, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let grant = granted(offset, bytes)?;
        in_steps(offset, bytes, grant, |start, bytes| self.file.allocate(start, bytes))
    }

    /// Returns the pages of `bytes` from `offset` on, both multiples of the page size, to the system. They
    /// read as zero afterwards, in every process, and are no longer allocated.
    ///
    /// # Errors
    /// Fails with `Outside` or `Kernel`.
    pub fn discard(&self, offset: usize, bytes: usize) -> Result<(), SegmentError> {
        self.mapping.check(offset, bytes)?;
        if bytes == 0 { Ok(()) } else { self.file.discard(offset, bytes) }
    }
}

impl Deref for Segment {
    type Target = Mapping;

    fn deref(&self) -> &Mapping {
        &self.mapping
    }
}

/// Returns the host account's permission to allocate `bytes`, to be dropped afterwards.
///
/// Asking the kernel alone is not enough: above a control group's limit it kills instead of refusing.
fn granted(offset: usize, bytes: usize) -> Result<memory::Grant<'static>, SegmentError> {
    let granted = memory::Account::ours()?.grant(bytes as u64);
    granted.map_err(|available| SegmentError::Memory { offset, needed: bytes, available })
}

/// The number of bytes that are allocated at once, so that others that wait for the account see progress.
const STEP: usize = 8 << 20;

/// Allocates `bytes` from `start` on in steps, and settles each step once it is allocated.
fn in_steps(
    start: usize,
    bytes: usize,
    mut grant: memory::Grant<'_>,
    allocate: impl Fn(usize, usize) -> Result<(), SegmentError>,
) -> Result<(), SegmentError> {
    for at in (0..bytes).step_by(STEP) {
        let step = STEP.min(bytes - at);
        allocate(start + at, step)?;
        grant.settle(step as u64);
    }
    Ok(())
}

fn kernel(doing: &'static str) -> impl Fn(Errno) -> SegmentError {
    move |error| SegmentError::Kernel { doing, error }
}

#[cfg(test)]
mod tests;
