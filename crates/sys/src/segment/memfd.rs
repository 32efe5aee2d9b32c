//! The file of a segment: a memfd whose size never changes.
//!
//! Owns the descriptor. A descriptor from a peer is checked here before any part of it is mapped.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;

use rustix::fs::{self, FallocateFlags, MemfdFlags, SealFlags};
use rustix::io::Errno;
use rustix::mm::{self, MapFlags, ProtFlags};

use super::{Mapping, SegmentError, kernel};
use crate::memory;

pub(super) const SEALS: SealFlags = SealFlags::SHRINK.union(SealFlags::GROW).union(SealFlags::SEAL);

/// The number of attempts to reserve pages. Signals may interrupt the reservation of many pages, but must not
/// delay it for ever.
const RESERVE_ATTEMPTS: u32 = 1000;

/// The memfd of a segment, whose size never changes.
#[derive(Debug)]
pub struct Memfd {
    descriptor: OwnedFd,
    len: usize,
}

impl Memfd {
    /// Creates a memfd of `bytes`, rounded up to whole pages, all zero. `name` shows in `/proc/…/maps`.
    ///
    /// # Errors
    /// Fails with `Size` if `bytes` is 0 or beyond the address space; with `Kernel` if the kernel refuses.
    pub fn create(name: &str, bytes: usize) -> Result<Memfd, SegmentError> {
        let len = bytes.checked_next_multiple_of(rustix::param::page_size()).and_then(valid_len);
        let len = len.ok_or(SegmentError::Size { found: bytes as u64 })?;
        let descriptor = create_memfd(name).map_err(kernel("create a shared segment"))?;
        fs::ftruncate(&descriptor, len as u64).map_err(kernel("size a shared segment"))?;
        fs::fcntl_add_seals(&descriptor, SEALS).map_err(kernel("seal a shared segment"))?;
        Ok(Memfd { descriptor, len })
    }

    /// Takes over a peer's memfd after a check that its size cannot change.
    ///
    /// # Errors
    /// Fails with `Unsealed` if it could be resized, with `Size` if it is empty or not whole pages.
    pub fn check(descriptor: OwnedFd) -> Result<Memfd, SegmentError> {
        // The seals are checked first: an unsealed file may have another size by the time it is mapped
        // (invariant I2).
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
        let len = len.ok_or(SegmentError::Size { found })?;
        Ok(Memfd { descriptor, len })
    }

    /// Returns the size in bytes.
    #[allow(clippy::len_without_is_empty)] // A memfd is never empty.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the descriptor by which a peer maps this memory.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }

    /// Maps `bytes` from `start` on, a multiple of the page size. The mapping does not keep the descriptor,
    /// except on kernels that need it to populate (Linux before 5.14).
    ///
    /// # Errors
    /// Fails with `Outside` if there is no such part, `Misaligned`, or `Kernel`.
    pub fn map(self: &Arc<Memfd>, start: usize, bytes: usize) -> Result<Mapping, SegmentError> {
        let len = bytes.checked_next_multiple_of(rustix::param::page_size()).unwrap_or(usize::MAX);
        match start.checked_add(len) {
            Some(end) if end <= self.len && len > 0 => {}
            _ => return Err(SegmentError::Outside { offset: start, len, segment: self.len }),
        }
        if !start.is_multiple_of(rustix::param::page_size()) {
            return Err(SegmentError::Misaligned { offset: start, align: rustix::param::page_size() });
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let null = std::ptr::null_mut();
        // SAFETY: a new mapping at an address of the kernel's choice replaces nothing.
        let base = unsafe { mm::mmap(null, len, access, MapFlags::SHARED, &self.descriptor, start as u64) };
        let base = base.map_err(kernel("map a shared segment"))?;
        let base = NonNull::new(base.cast()).expect("the kernel maps nothing at address 0 unasked");
        let kept = (!Mapping::can_populate()).then(|| (self.clone(), start));
        Ok(Mapping { base, len, kept })
    }

    /// Allocates `bytes` from `start` on.
    pub(super) fn allocate(&self, start: usize, bytes: usize) -> Result<(), SegmentError> {
        let mut attempts = 0;
        loop {
            attempts += 1;
            let done = fs::fallocate(&self.descriptor, FallocateFlags::empty(), start as u64, bytes as u64);
            match done {
                Ok(()) => return Ok(()),
                Err(Errno::INTR) if attempts < RESERVE_ATTEMPTS => continue,
                Err(Errno::NOMEM | Errno::NOSPC) => {
                    let available = memory::spare();
                    return Err(SegmentError::Memory { offset: start, needed: bytes, available });
                }
                Err(error) => return Err(kernel("reserve shared memory")(error)),
            }
        }
    }

    /// Returns the pages of `bytes` from `start` on to the system.
    pub(super) fn discard(&self, start: usize, bytes: usize) -> Result<(), SegmentError> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fs::fallocate(&self.descriptor, hole, start as u64, bytes as u64)
            .map_err(kernel("give shared memory back"))
    }
}

/// Accepts a length that is not empty, is whole pages, and is no more than a pointer can span.
fn valid_len(len: usize) -> Option<usize> {
    let whole = len > 0 && len.is_multiple_of(rustix::param::page_size());
    (whole && len <= isize::MAX as usize).then_some(len)
}

/// Creates a memfd that can be sealed. It is not executable where the kernel knows the flag (6.3).
pub(crate) fn create_memfd(name: &str) -> Result<OwnedFd, Errno> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match fs::memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => fs::memfd_create(name, flags),
        answer => answer,
    }
}
