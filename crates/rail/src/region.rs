//! Regions: memory that this process allocated for peers to read and write, and peers' regions mapped here.
//!
//! A region stays mapped while it has a holder, the user or a transfer under way (invariant I11). The tables
//! of regions are in `regions`.

use canele_mem::window::Window;
use std::ptr::NonNull;
use std::sync::Arc;

use canele_mem::buffer::{InBuffer, OutBuffer, RegionAddress};
use canele_mem::exposed::Exposed;
use canele_sys::atomic::{AtomicU32, AtomicU64};
use canele_sys::ids::{Rank, RegionId};
use canele_sys::segment::{Segment, SegmentError};

/// A region of this process.
pub struct Region {
    id: RegionId,
    len: usize,
    memory: Arc<RegionMemory>,
    is_on_touch: bool,
}

/// The memory of a region, of this process or mapped from a peer. A region of another host has no bytes here.
pub struct RegionMemory {
    base: NonNull<u8>,
    len: usize,
    /// Keeps the memory mapped; none if the program owns the memory.
    segment: Option<Segment>,
    elsewhere: Option<UnmappedRegion>,
}

// SAFETY: as of `Segment`, into which `base` points: shared access gives atomics and windows only.
unsafe impl Send for RegionMemory {}
// SAFETY: as above.
unsafe impl Sync for RegionMemory {}

/// A region that cannot be mapped here: its owner carries out all accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnmappedRegion {
    /// The rank that owns it.
    pub owner: Rank,
    /// Its id at the owner.
    pub region: RegionId,
    /// Its length in bytes.
    pub bytes: usize,
}

impl RegionMemory {
    pub(super) fn new(segment: Segment, len: usize) -> Self {
        Self { base: segment.base(), len, segment: Some(segment), elsewhere: None }
    }

    /// Returns the `len` bytes of the program from `start`, which other ranks reach through this process.
    ///
    /// # Safety
    /// The bytes stay mapped, readable and writable as long as the value lives, and no Rust reference to them exists while a window on
    /// them is used.
    pub unsafe fn of_program(start: NonNull<u8>, len: usize) -> Self {
        Self { base: start, len, segment: None, elsewhere: None }
    }

    /// Returns its first address in this process.
    pub fn address(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// Returns the memory in the form that is exposed under a key.
    pub fn exposed(self: &Arc<Self>) -> Exposed {
        // SAFETY: `self.clone()` keeps the `self.len` bytes mapped, or the caller of `of_program` promised it, and none are borrowed.
        unsafe { Exposed::kept(self.base, self.len, self.clone()) }
    }

    /// Makes a stand-in for memory that cannot be mapped. It has zero bytes, so a call that looks for some
    /// reaches the path to the owner only where it would fail. Access to mapped memory therefore pays
    /// nothing.
    pub fn elsewhere(place: UnmappedRegion) -> Self {
        Self { base: NonNull::dangling(), len: 0, segment: None, elsewhere: Some(place) }
    }

    /// Allocates `bytes` of zeroed memory that no other process sees.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn private(bytes: usize) -> Result<Self, SegmentError> {
        Ok(Self::new(Segment::create_reserved("canele-private", bytes)?, bytes))
    }

    /// Returns its owner and id if it cannot be mapped here.
    pub fn place(&self) -> Option<UnmappedRegion> {
        self.elsewhere
    }

    /// Returns its length in bytes.
    #[allow(clippy::len_without_is_empty)] // A region is never empty.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the `len` bytes from `offset`, if they lie inside.
    #[inline]
    pub fn window(&self, offset: usize, len: usize) -> Option<Window<'_>> {
        // SAFETY: self.len <= segment.len(), 0 without one; the borrow keeps it mapped; regions are never borrowed as references.
        let all = unsafe { Window::new(self.base, self.len) };
        all.part(offset, len)
    }

    /// Returns the aligned 64-bit word at `offset`, for atomic operations.
    pub fn word(&self, offset: usize) -> Option<&AtomicU64> {
        self.window(offset, size_of::<u64>())?.word(0)
    }

    /// Returns the aligned 32-bit word at `offset`.
    pub fn word32(&self, offset: usize) -> Option<&AtomicU32> {
        let inside = offset.is_multiple_of(4) && offset.checked_add(4)? <= self.len;
        // SAFETY: inside the mapping, which the borrow keeps, and aligned, for mappings begin with a page.
        inside.then(|| unsafe { self.base.add(offset).cast().as_ref() })
    }
}

impl Region {
    pub(super) fn new(id: RegionId, segment: Segment, len: usize, is_on_touch: bool) -> Self {
        Self { id, len, memory: Arc::new(RegionMemory::new(segment, len)), is_on_touch }
    }

    /// Returns true for memory of the program, whose pages are allocated when they are touched.
    pub fn is_on_touch(&self) -> bool {
        self.is_on_touch
    }

    /// Returns its id, valid for this process only.
    pub fn id(&self) -> RegionId {
        self.id
    }

    /// Returns its length in bytes.
    #[allow(clippy::len_without_is_empty)] // A region is never empty.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns its first address in this process.
    pub fn address(&self) -> *mut u8 {
        self.memory.base.as_ptr()
    }

    /// Returns the memory as a file, which the launcher hands to peers.
    pub fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.segment().fd()
    }

    /// Allocates the `len` bytes from `offset`, which the host's account grants.
    ///
    /// # Errors
    /// Returns the errors of [`Segment::reserve`].
    pub fn make_real(&self, offset: usize, len: usize) -> Result<(), SegmentError> {
        self.segment().reserve(offset, len)
    }

    /// Gives whole pages back to the system; they read as zero afterwards.
    ///
    /// # Errors
    /// Returns the errors of [`Segment::discard`].
    pub fn discard(&self, offset: usize, len: usize) -> Result<(), SegmentError> {
        self.segment().discard(offset, len)
    }

    fn segment(&self) -> &Segment {
        self.memory.segment.as_ref().expect("a region of this process lies in a segment")
    }

    /// Returns the aligned 64-bit word at `offset`, for atomic operations.
    pub fn word(&self, offset: usize) -> Option<&AtomicU64> {
        self.memory.word(offset)
    }

    /// Returns its memory.
    pub fn far(&self) -> Arc<RegionMemory> {
        self.memory.clone()
    }

    /// Returns the `len` bytes from `offset`, if they lie inside.
    pub fn window(&self, offset: usize, len: usize) -> Option<Window<'_>> {
        self.memory.window(offset, len)
    }

    fn part(self: &Arc<Self>, offset: usize, len: usize) -> Option<(NonNull<u8>, RegionAddress)> {
        let start = self.segment().at(offset, len, 1).ok()?;
        (offset + len <= self.len)
            .then_some((start, RegionAddress { region: self.id, offset: offset as u64 }))
    }

    /// Returns its memory in the form that is exposed under a key.
    pub fn exposed(self: &Arc<Self>) -> Exposed {
        // SAFETY: `self.clone()` keeps the mapping of `self.len` bytes, and regions are never borrowed as references.
        unsafe { Exposed::kept(self.memory.base, self.len, self.clone()) }
    }

    /// Returns the `len` bytes from `offset` as a message to send.
    pub fn out_buffer(self: &Arc<Self>, offset: usize, len: usize) -> Option<OutBuffer> {
        let (start, place) = self.part(offset, len)?;
        // SAFETY: the range was checked, and `self.clone()` keeps it mapped.
        Some(unsafe { OutBuffer::of_region(start, len, place, self.clone()) })
    }

    /// Returns the `len` bytes from `offset` as room for a message.
    pub fn in_buffer(self: &Arc<Self>, offset: usize, len: usize) -> Option<InBuffer> {
        let (start, place) = self.part(offset, len)?;
        // SAFETY: as above.
        Some(unsafe { InBuffer::of_region(start, len, place, self.clone()) })
    }
}
