//! Memory that several processes map: an anonymous file (memfd), sealed against any change of its size.
//!
//! ```text
//!   creator: memfd, sealed ──▶ descriptor over a Unix socket ──▶ peer: checks seals and size, maps
//! ```
//!
//! No name in any file system, nothing left after the last process; and since the size can never change, an
//! access inside a mapping does not meet the end of the file. Pages come into being when they are first
//! touched, and a touch when memory has run out is fatal: [`Segment::reserve`] before use.
//!
//! What this module never does: lay out the bytes, trust a peer's descriptor, or hand out a reference to
//! plain memory, which a peer may change at any time.

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

/// Why a segment could not be had or used.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
pub enum SegmentError {
    /// The machine, or a control group, has not enough memory left. The user's to solve.
    #[error(
        "{needed} bytes at offset {offset} of a shared segment cannot be reserved: {available} bytes of memory \
         are available (free memory, raise the container's memory limit, or ask for less)"
    )]
    Memory {
        /// Where in the segment, in bytes.
        offset: usize,
        /// How many bytes were asked for.
        needed: usize,
        /// How many bytes the host's account ([`memory::Account`]) had left.
        available: u64,
    },
    /// A descriptor from a peer that could be resized under us. The peer's fault.
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
    /// A place that the segment does not have. The caller's fault, or that of the peer that told it the offset.
    #[error("{len} bytes at offset {offset} lie outside a segment of {segment} bytes")]
    Outside {
        /// Where, in bytes.
        offset: usize,
        /// How many bytes.
        len: usize,
        /// The segment's size in bytes.
        segment: usize,
    },
    /// A place that is not aligned as its use demands. As `Outside`.
    #[error("offset {offset} of a segment is not a multiple of {align}")]
    Misaligned {
        /// Where, in bytes.
        offset: usize,
        /// The alignment demanded, in bytes.
        align: usize,
    },
    /// The kernel refused.
    #[error("cannot {doing}: {error}")]
    Kernel {
        /// What was being done.
        doing: &'static str,
        /// What the kernel answered.
        error: Errno,
    },
}

/// A memfd that is mapped whole. The mapping lasts as long as the value, the memory as long as any process maps it.
#[derive(Debug)]
pub struct Segment {
    mapping: Mapping,
    file: Arc<Memfd>,
}

impl Segment {
    /// A new segment of `bytes`, rounded up to whole pages, all zero. `name` shows in `/proc/…/maps`.
    ///
    /// # Errors
    /// `Size` if `bytes` is 0 or beyond the address space; `Kernel` if the kernel refuses.
    pub fn create(name: &str, bytes: usize) -> Result<Segment, SegmentError> {
        Segment::whole(Memfd::create(name, bytes)?)
    }

    /// A new segment all of which is real memory. Asks what is available before anything else, so that a size beyond
    /// all address space, too, is refused as what it is: too large.
    ///
    /// # Errors
    /// `Memory`, naming what was needed and what is available; `Size` if `bytes` is 0; `Kernel`.
    pub fn create_reserved(name: &str, bytes: usize) -> Result<Segment, SegmentError> {
        let grant = granted(0, bytes)?;
        let segment = Segment::create(name, bytes)?;
        in_steps(0, segment.len(), grant, |start, bytes| segment.file.allocate(start, bytes))?;
        Ok(segment)
    }

    /// Maps a peer's segment, whatever its size. The descriptor is not trusted.
    ///
    /// # Errors
    /// As [`Memfd::check`]; `Kernel` if it cannot be mapped for reading and writing.
    pub fn map(descriptor: OwnedFd) -> Result<Segment, SegmentError> {
        Segment::whole(Memfd::check(descriptor)?)
    }

    fn whole(file: Memfd) -> Result<Segment, SegmentError> {
        let file = Arc::new(file);
        Ok(Segment { mapping: file.map(0, file.len())?, file })
    }

    /// What a peer needs to map the same memory.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.file.fd()
    }

    /// The mapping and the file, each of which lasts without the other.
    pub fn into_parts(self) -> (Mapping, Arc<Memfd>) {
        (self.mapping, self.file)
    }

    /// Makes `bytes` at `offset` real memory, so that touching them later cannot fail.
    ///
    /// # Errors
    /// `Memory`, naming what was needed and what is available; `Outside`; `Kernel`.
    pub fn reserve(&self, offset: usize, bytes: usize) -> Result<(), SegmentError> {
        self.mapping.check(offset, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let grant = granted(offset, bytes)?;
        in_steps(offset, bytes, grant, |start, bytes| self.file.allocate(start, bytes))
    }

    /// Gives the pages of `bytes` from `offset` on, both multiples of the page size, back to the system. They read as zero afterwards, in
    /// every process, and are no longer real.
    ///
    /// # Errors
    /// `Outside`; `Kernel`.
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

/// Permission of the host's account to allocate `bytes`, to be dropped afterwards.
///
/// Asking the kernel alone is not enough: above a control group's limit it kills instead of refusing.
fn granted(offset: usize, bytes: usize) -> Result<memory::Grant<'static>, SegmentError> {
    let granted = memory::Account::ours()?.grant(bytes as u64);
    granted.map_err(|available| SegmentError::Memory { offset, needed: bytes, available })
}

/// Bytes that are allocated at once: others that wait for the account see that it goes on.
const STEP: usize = 8 << 20;

/// Allocates `bytes` from `start` on in steps, each of which is settled when it is real.
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
