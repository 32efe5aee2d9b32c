//! Regions: memory that this process allocated for peers to read and write, and peers' regions mapped here.
//!
//! A region stays mapped while it has a holder, the user or a transfer under way (invariant I11). Which regions there are is the
//! matter of `regions`.

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

/// The memory of a region, of this process or mapped from a peer; of a rank of another host there is nothing to be seen.
pub struct RegionMemory {
    base: NonNull<u8>,
    len: usize,
    /// Keeps it mapped; nothing of memory that the program keeps.
    segment: Option<Segment>,
    elsewhere: Option<UnmappedRegion>,
}

// SAFETY: as of `Segment`, into which `base` points: shared access gives atomics and windows only.
unsafe impl Send for RegionMemory {}
// SAFETY: as above.
unsafe impl Sync for RegionMemory {}

/// A region that cannot be mapped here: its owner does what is to be done there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnmappedRegion {
    /// Whose it is.
    pub owner: Rank,
    /// Its id there.
    pub region: RegionId,
    /// Its length in bytes.
    pub bytes: usize,
}

impl RegionMemory {
    pub(super) fn new(segment: Segment, len: usize) -> Self {
        Self { base: segment.base(), len, segment: Some(segment), elsewhere: None }
    }

    /// The `len` bytes of the program from `start`, which other ranks reach through this process.
    ///
    /// # Safety
    /// The bytes stay mapped, readable and writable as long as the value lives, and no Rust reference to them exists while a window on
    /// them is used.
    pub unsafe fn of_program(start: NonNull<u8>, len: usize) -> Self {
        Self { base: start, len, segment: None, elsewhere: None }
    }

    /// Where it begins in this process.
    pub fn address(&self) -> *mut u8 {
        self.base.as_ptr()
    }

    /// It as memory to be exposed under a key.
    pub fn exposed(self: &Arc<Self>) -> Exposed {
        // SAFETY: `self.clone()` keeps the `self.len` bytes mapped, or the caller of `of_program` promised it, and none are borrowed.
        unsafe { Exposed::kept(self.base, self.len, self.clone()) }
    }

    /// Stands for memory that cannot be mapped. It seems to have no bytes, so that a call that looks for some finds the way to the
    /// owner where else it would find an error: where memory is mapped this costs nothing.
    pub fn elsewhere(place: UnmappedRegion) -> Self {
        Self { base: NonNull::dangling(), len: 0, segment: None, elsewhere: Some(place) }
    }

    /// `bytes` of memory, zeroed, that no other process will see.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn private(bytes: usize) -> Result<Self, SegmentError> {
        Ok(Self::new(Segment::create_reserved("canele-private", bytes)?, bytes))
    }

    /// Where it is, if it cannot be mapped here.
    pub fn place(&self) -> Option<UnmappedRegion> {
        self.elsewhere
    }

    /// Its length in bytes.
    #[allow(clippy::len_without_is_empty)] // A region is never empty.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The `len` bytes from `offset`, if they lie inside.
    #[inline]
    pub fn window(&self, offset: usize, len: usize) -> Option<Window<'_>> {
        // SAFETY: self.len <= segment.len(), 0 without one; the borrow keeps it mapped; regions are never borrowed as references.
        let all = unsafe { Window::new(self.base, self.len) };
        all.part(offset, len)
    }

    /// The aligned 64-bit word at `offset`, for atomic operations.
    pub fn word(&self, offset: usize) -> Option<&AtomicU64> {
        self.window(offset, size_of::<u64>())?.word(0)
    }

    /// The aligned 32-bit word at `offset`.
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

    /// True for memory of the program, whose pages become real when they are touched.
    pub fn is_on_touch(&self) -> bool {
        self.is_on_touch
    }

    /// Its id, valid in this process's name only.
    pub fn id(&self) -> RegionId {
        self.id
    }

    /// Its length in bytes.
    #[allow(clippy::len_without_is_empty)] // A region is never empty.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Where it begins in this process.
    pub fn address(&self) -> *mut u8 {
        self.memory.base.as_ptr()
    }

    /// The memory as a file, for the launcher to hand to peers.
    pub fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.segment().fd()
    }

    /// Makes the `len` bytes from `offset` real memory, which the host's account grants.
    ///
    /// # Errors
    /// As [`Segment::reserve`].
    pub fn make_real(&self, offset: usize, len: usize) -> Result<(), SegmentError> {
        self.segment().reserve(offset, len)
    }

    /// Gives whole pages back to the system, which then read as zero.
    ///
    /// # Errors
    /// As [`Segment::discard`].
    pub fn discard(&self, offset: usize, len: usize) -> Result<(), SegmentError> {
        self.segment().discard(offset, len)
    }

    fn segment(&self) -> &Segment {
        self.memory.segment.as_ref().expect("a region of this process lies in a segment")
    }

    /// The aligned 64-bit word at `offset`, for atomic operations.
    pub fn word(&self, offset: usize) -> Option<&AtomicU64> {
        self.memory.word(offset)
    }

    /// Its memory.
    pub fn far(&self) -> Arc<RegionMemory> {
        self.memory.clone()
    }

    /// The `len` bytes from `offset`, if they lie inside.
    pub fn window(&self, offset: usize, len: usize) -> Option<Window<'_>> {
        self.memory.window(offset, len)
    }

    fn part(self: &Arc<Self>, offset: usize, len: usize) -> Option<(NonNull<u8>, RegionAddress)> {
        let start = self.segment().at(offset, len, 1).ok()?;
        (offset + len <= self.len)
            .then_some((start, RegionAddress { region: self.id, offset: offset as u64 }))
    }

    /// Its memory, to be exposed under a key.
    pub fn exposed(self: &Arc<Self>) -> Exposed {
        // SAFETY: `self.clone()` keeps the mapping of `self.len` bytes, and regions are never borrowed as references.
        unsafe { Exposed::kept(self.memory.base, self.len, self.clone()) }
    }

    /// The `len` bytes from `offset` as a message to be sent.
    pub fn out_buffer(self: &Arc<Self>, offset: usize, len: usize) -> Option<OutBuffer> {
        let (start, place) = self.part(offset, len)?;
        // SAFETY: the range was checked, and `self.clone()` keeps it mapped.
        Some(unsafe { OutBuffer::of_region(start, len, place, self.clone()) })
    }

    /// The `len` bytes from `offset` as room for a message.
    pub fn in_buffer(self: &Arc<Self>, offset: usize, len: usize) -> Option<InBuffer> {
        let (start, place) = self.part(offset, len)?;
        // SAFETY: as above.
        Some(unsafe { InBuffer::of_region(start, len, place, self.clone()) })
    }
}
