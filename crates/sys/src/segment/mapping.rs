//! A mapped part of a segment.
//!
//! Owns the address range and unmaps it. Knows the segment's file only where the kernel needs it.

use std::ptr::{self, NonNull};
use std::sync::{Arc, OnceLock};

use rustix::io::Errno;
use rustix::mm::{self, Advice};

use super::{Memfd, SegmentError, granted, in_steps, kernel};
use crate::atomic::{AtomicU32, AtomicU64};
use crate::memory;

/// A mapped range of a segment, whose descriptor may be closed. The mapping lasts as long as the value.
#[derive(Debug)]
pub struct Mapping {
    pub(super) base: NonNull<u8>,
    pub(super) len: usize,
    /// The file and the mapping's offset in it, kept only where the kernel needs the file to reserve more.
    pub(super) kept: Option<(Arc<Memfd>, usize)>,
}

// SAFETY: the mapping belongs to the process, not to a thread, and is only unmapped by drop.
unsafe impl Send for Mapping {}
// SAFETY: shared access hands out atomics and raw pointers only, whose users answer for races.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Returns the size of the mapping in bytes: whole pages.
    #[allow(clippy::len_without_is_empty)] // A mapping is never empty.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the first byte, aligned to a page.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Returns the address of `len` bytes at `offset`, after a check of bounds and alignment (a power of
    /// two).
    ///
    /// # Errors
    /// Fails with `Outside` or `Misaligned`.
    pub fn at(&self, offset: usize, len: usize, align: usize) -> Result<NonNull<u8>, SegmentError> {
        self.check(offset, len)?;
        // The base is aligned to a page, and no type requires more.
        if !align.is_power_of_two() || align > rustix::param::page_size() || !offset.is_multiple_of(align) {
            return Err(SegmentError::Misaligned { offset, align });
        }
        // SAFETY: offset <= self.len, which is the size of one mapping.
        Ok(unsafe { self.base.add(offset) })
    }

    /// Returns the 32-bit word at `offset`.
    ///
    /// # Panics
    /// Panics if it lies outside or is not aligned: offsets come from a checked layout, never straight from a
    /// peer.
    pub fn atomic_u32(&self, offset: usize) -> &AtomicU32 {
        let place = self.at(offset, size_of::<AtomicU32>(), align_of::<AtomicU32>());
        // SAFETY: inside the mapping, aligned, and any bits are an integer; `self` keeps it mapped. Layouts
        // give each word one size, and all processes that share it use atomics.
        unsafe { place.unwrap_or_else(|error| panic!("{error}")).cast().as_ref() }
    }

    /// Returns the 64-bit word at `offset`.
    ///
    /// # Panics
    /// Panics as [`Mapping::atomic_u32`] does.
    pub fn atomic_u64(&self, offset: usize) -> &AtomicU64 {
        let place = self.at(offset, size_of::<AtomicU64>(), align_of::<AtomicU64>());
        // SAFETY: as in `atomic_u32`.
        unsafe { place.unwrap_or_else(|error| panic!("{error}")).cast().as_ref() }
    }

    /// Returns `count` 64-bit words from `offset` on.
    ///
    /// # Panics
    /// Panics as [`Mapping::atomic_u32`] does.
    pub fn atomic_u64s(&self, offset: usize, count: usize) -> &[AtomicU64] {
        let bytes = count.saturating_mul(size_of::<AtomicU64>());
        let place = self.at(offset, bytes, align_of::<AtomicU64>());
        let first = place.unwrap_or_else(|error| panic!("{error}")).cast();
        // SAFETY: all words lie inside the mapping; otherwise as in `atomic_u32`.
        unsafe { std::slice::from_raw_parts(first.as_ptr(), count) }
    }

    /// Allocates and maps `bytes` at `offset`, a multiple of the page size, so that touching them later
    /// cannot fail.
    ///
    /// # Errors
    /// Fails with `Memory`, naming the needed and the available bytes; with `Outside`, `Misaligned` or
    /// `Kernel`.
    pub fn populate(&self, offset: usize, bytes: usize) -> Result<(), SegmentError> {
        let start = self.at(offset, bytes, rustix::param::page_size())?;
        if bytes == 0 {
            return Ok(());
        }
        let grant = granted(offset, bytes)?;
        in_steps(0, bytes, grant, |at, step| match &self.kept {
            Some((file, in_file)) => file.allocate(in_file + offset + at, step),
            // SAFETY: at + step <= bytes, which lie in our mapping from `start` on.
            None => self.populate_step(unsafe { start.add(at) }, offset + at, step),
        })
    }

    /// Allocates and maps `bytes` from `start` on, which lie in this mapping at `offset`.
    fn populate_step(&self, start: NonNull<u8>, offset: usize, bytes: usize) -> Result<(), SegmentError> {
        // SAFETY: the range lies in our mapping; its bytes stay as they are.
        match unsafe { mm::madvise(start.as_ptr().cast(), bytes, Advice::LinuxPopulateWrite) } {
            Ok(()) => Ok(()),
            Err(Errno::NOMEM | Errno::FAULT) => {
                Err(SegmentError::Memory { offset, needed: bytes, available: memory::spare() })
            }
            Err(error) => Err(kernel("reserve shared memory")(error)),
        }
    }

    /// Returns true if the kernel can populate a mapping.
    pub(super) fn can_populate() -> bool {
        static CAN: OnceLock<bool> = OnceLock::new();
        // SAFETY: the range has no bytes, so nothing is touched; the kernel only reports if it knows the
        // advice.
        *CAN.get_or_init(|| unsafe { mm::madvise(ptr::null_mut(), 0, Advice::LinuxPopulateWrite) }.is_ok())
    }

    /// Excludes the mapping from forked children: they must not act in this rank's name.
    ///
    /// # Errors
    /// Fails with `Kernel`.
    pub fn dont_fork(&self) -> Result<(), SegmentError> {
        // SAFETY: the range is exactly our mapping, and this process keeps all of it.
        let done = unsafe { mm::madvise(self.base.as_ptr().cast(), self.len, Advice::LinuxDontFork) };
        done.map_err(kernel("keep a shared segment from forked children"))
    }

    pub(super) fn check(&self, offset: usize, len: usize) -> Result<(), SegmentError> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len => Ok(()),
            _ => Err(SegmentError::Outside { offset, len, segment: self.len }),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range is exactly our mapping, and references into it do not outlive the value.
        let done = unsafe { mm::munmap(self.base.as_ptr().cast(), self.len) };
        debug_assert_eq!(done, Ok(()), "our own mapping can be unmapped");
    }
}
