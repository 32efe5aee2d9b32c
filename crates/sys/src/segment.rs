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

use crate::atomic::{AtomicU32, AtomicU64};
use crate::memory;
use rustix::fs::{self, FallocateFlags, MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{self, Advice, MapFlags, ProtFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use thiserror::Error;

/// Why a segment could not be had or used.
#[derive(Debug, Error, PartialEq, Eq)]
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
        /// How many bytes [`memory::available`] found.
        available: u64,
    },
    /// A descriptor from a peer that could be resized under us. The peer's fault.
    #[error("the descriptor is not a segment: the seals {missing:?} are missing")]
    Unsealed {
        /// The seals that are not set.
        missing: SealFlags,
    },
    /// A size that no segment has, or not the one announced. The peer's fault, or the caller's.
    #[error("a segment of {found} bytes, where {expected} was expected")]
    Size {
        /// The size found or asked for, in bytes.
        found: u64,
        /// What a right size would be.
        expected: Expected,
    },
    /// A place that the segment does not have. The caller's fault, or that of whoever told it the offset.
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

/// What a size should have been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Exactly so many bytes.
    Bytes(usize),
    /// Whole pages, at least one.
    WholePages,
}

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Expected::Bytes(bytes) => write!(f, "{bytes}"),
            Expected::WholePages => write!(f, "a positive multiple of the page size"),
        }
    }
}

const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// A signal may interrupt the reservation of many pages; a storm of them must not hold us for ever.
const RESERVE_ATTEMPTS: u32 = 1000;

/// A mapped memfd. The mapping lasts as long as the value, the memory as long as anybody maps it.
#[derive(Debug)]
pub struct Segment {
    base: NonNull<u8>,
    len: usize,
    descriptor: OwnedFd,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is only unmapped by drop.
unsafe impl Send for Segment {}
// SAFETY: shared access hands out atomics and raw pointers only, whose users answer for races.
unsafe impl Sync for Segment {}

impl Segment {
    /// A new segment of `bytes`, rounded up to whole pages, all zero. `name` shows in `/proc/…/maps`.
    ///
    /// # Errors
    /// `Size` if `bytes` is 0 or beyond the address space; `Kernel` if the kernel refuses.
    pub fn create(name: &str, bytes: usize) -> Result<Segment, SegmentError> {
        let len = bytes.checked_next_multiple_of(rustix::param::page_size()).and_then(valid_len);
        let len = len.ok_or(SegmentError::Size { found: bytes as u64, expected: Expected::WholePages })?;
        let descriptor = memfd(name).map_err(kernel("create a shared segment"))?;
        fs::ftruncate(&descriptor, len as u64).map_err(kernel("size a shared segment"))?;
        fs::fcntl_add_seals(&descriptor, SEALS).map_err(kernel("seal a shared segment"))?;
        Segment::mapped(descriptor, len)
    }

    /// A new segment all of which is real memory. Asks what is available before anything else, so that a size beyond
    /// all address space, too, is refused as what it is: too large.
    ///
    /// # Errors
    /// `Memory`, naming what was needed and what is available; `Size` if `bytes` is 0; `Kernel`.
    pub fn create_reserved(name: &str, bytes: usize) -> Result<Segment, SegmentError> {
        let available = available_for(0, bytes)?;
        let segment = Segment::create(name, bytes)?;
        segment.allocate(0, segment.len, available)?;
        Ok(segment)
    }

    /// Maps a peer's segment, whatever its size. The descriptor is not trusted.
    ///
    /// # Errors
    /// `Unsealed` if it could be resized, `Size` if it is empty or no whole pages, `Kernel` if it cannot be
    /// mapped for reading and writing.
    pub fn map(descriptor: OwnedFd) -> Result<Segment, SegmentError> {
        // The seals first: an unsealed file may have another size by the time it is mapped (invariant I2).
        let sealed = match fs::fcntl_get_seals(&descriptor) {
            Ok(seals) => seals,
            Err(Errno::INVAL) => SealFlags::empty(), // not a memfd at all
            Err(error) => return Err(kernel("read the seals of a shared segment")(error)),
        };
        if !sealed.contains(SEALS) {
            return Err(SegmentError::Unsealed { missing: SEALS.difference(sealed) });
        }
        let status = fs::fstat(&descriptor).map_err(kernel("read the size of a shared segment"))?;
        let found = status.st_size as u64;
        let len = usize::try_from(found).ok().and_then(valid_len);
        let len = len.ok_or(SegmentError::Size { found, expected: Expected::WholePages })?;
        Segment::mapped(descriptor, len)
    }

    /// Maps a peer's segment that was announced to have `bytes` (a [`Segment::len`]).
    ///
    /// # Errors
    /// As [`Segment::map`], and `Size` if the announcement is not true.
    pub fn map_sized(descriptor: OwnedFd, bytes: usize) -> Result<Segment, SegmentError> {
        let segment = Segment::map(descriptor)?;
        if segment.len == bytes {
            return Ok(segment);
        }
        Err(SegmentError::Size { found: segment.len as u64, expected: Expected::Bytes(bytes) })
    }

    fn mapped(descriptor: OwnedFd, len: usize) -> Result<Segment, SegmentError> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing.
        let base = unsafe { mm::mmap(std::ptr::null_mut(), len, access, MapFlags::SHARED, &descriptor, 0) };
        let base = base.map_err(kernel("map a shared segment"))?;
        let base = NonNull::new(base.cast()).expect("the kernel maps nothing at address 0 unasked");
        Ok(Segment { base, len, descriptor })
    }

    /// Size in bytes: whole pages.
    #[allow(clippy::len_without_is_empty)] // A segment is never empty.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The first byte, aligned to a page.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// What a peer needs to map the same memory.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Where `len` bytes at `offset` lie, once bounds and alignment (a power of two) are checked.
    ///
    /// # Errors
    /// `Outside` or `Misaligned`.
    pub fn at(&self, offset: usize, len: usize, align: usize) -> Result<NonNull<u8>, SegmentError> {
        self.check(offset, len)?;
        // The base is aligned to a page, and no type asks for more.
        if !align.is_power_of_two() || align > rustix::param::page_size() || !offset.is_multiple_of(align) {
            return Err(SegmentError::Misaligned { offset, align });
        }
        // SAFETY: offset <= self.len, which is the size of one mapping.
        Ok(unsafe { self.base.add(offset) })
    }

    /// The 32-bit word at `offset`.
    ///
    /// # Panics
    /// If it lies outside or is not aligned: offsets come from a checked layout, never straight from a peer.
    pub fn atomic_u32(&self, offset: usize) -> &AtomicU32 {
        let place = self.at(offset, size_of::<AtomicU32>(), align_of::<AtomicU32>());
        // SAFETY: inside the mapping, aligned, and any bits are an integer; `self` keeps it mapped. Layouts
        // give each word one size, and everybody who shares it uses atomics.
        unsafe { place.unwrap_or_else(|error| panic!("{error}")).cast().as_ref() }
    }

    /// The 64-bit word at `offset`.
    ///
    /// # Panics
    /// As [`Segment::atomic_u32`].
    pub fn atomic_u64(&self, offset: usize) -> &AtomicU64 {
        let place = self.at(offset, size_of::<AtomicU64>(), align_of::<AtomicU64>());
        // SAFETY: as in `atomic_u32`.
        unsafe { place.unwrap_or_else(|error| panic!("{error}")).cast().as_ref() }
    }

    /// `count` 64-bit words from `offset` on.
    ///
    /// # Panics
    /// As [`Segment::atomic_u32`].
    pub fn atomic_u64s(&self, offset: usize, count: usize) -> &[AtomicU64] {
        let bytes = count.saturating_mul(size_of::<AtomicU64>());
        let place = self.at(offset, bytes, align_of::<AtomicU64>());
        let first = place.unwrap_or_else(|error| panic!("{error}")).cast();
        // SAFETY: all words lie inside the mapping; otherwise as in `atomic_u32`.
        unsafe { std::slice::from_raw_parts(first.as_ptr(), count) }
    }

    /// Makes `bytes` at `offset` real memory, so that touching them later cannot fail.
    ///
    /// # Errors
    /// `Memory`, naming what was needed and what is available; `Outside`; `Kernel`.
    pub fn reserve(&self, offset: usize, bytes: usize) -> Result<(), SegmentError> {
        self.check(offset, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        self.allocate(offset, bytes, available_for(offset, bytes)?)
    }

    fn allocate(&self, offset: usize, bytes: usize, available: u64) -> Result<(), SegmentError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let done = fs::fallocate(&self.descriptor, FallocateFlags::empty(), offset as u64, bytes as u64);
            match done {
                Ok(()) => return Ok(()),
                Err(Errno::INTR) if attempts < RESERVE_ATTEMPTS => continue,
                Err(Errno::NOMEM | Errno::NOSPC) => {
                    return Err(SegmentError::Memory { offset, needed: bytes, available });
                }
                Err(error) => return Err(kernel("reserve shared memory")(error)),
            }
        }
    }

    /// Leaves the mapping out of forked children: they must not speak in this rank's name.
    ///
    /// # Errors
    /// `Kernel`.
    pub fn dont_fork(&self) -> Result<(), SegmentError> {
        // SAFETY: the range is exactly our mapping, and this process keeps all of it.
        let done = unsafe { mm::madvise(self.base.as_ptr().cast(), self.len, Advice::LinuxDontFork) };
        done.map_err(kernel("keep a shared segment from forked children"))
    }

    fn check(&self, offset: usize, len: usize) -> Result<(), SegmentError> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len => Ok(()),
            _ => Err(SegmentError::Outside { offset, len, segment: self.len }),
        }
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: the range is exactly our mapping, and references into it do not outlive the value.
        let done = unsafe { mm::munmap(self.base.as_ptr().cast(), self.len) };
        debug_assert_eq!(done, Ok(()), "our own mapping can be unmapped");
    }
}

/// What memory is available, if `bytes` can be had of it.
///
/// Asking the kernel alone is not enough: above a control group's limit it kills instead of refusing.
fn available_for(offset: usize, bytes: usize) -> Result<u64, SegmentError> {
    let available = memory::available();
    if bytes as u64 > available {
        return Err(SegmentError::Memory { offset, needed: bytes, available });
    }
    Ok(available)
}

/// Neither empty, nor a broken page, nor more than a pointer can span.
fn valid_len(len: usize) -> Option<usize> {
    let whole = len > 0 && len.is_multiple_of(rustix::param::page_size());
    (whole && len <= isize::MAX as usize).then_some(len)
}

fn kernel(doing: &'static str) -> impl Fn(Errno) -> SegmentError {
    move |error| SegmentError::Kernel { doing, error }
}

/// Not executable where the kernel knows the flag (6.3), and plain where it does not.
fn memfd(name: &str) -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match fs::memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => fs::memfd_create(name, flags),
        answer => answer,
    }
}

#[cfg(test)]
mod tests;
