//! Regions: memory that this process allocated for peers to read and write, and peers' regions mapped here.
//!
//! An id has a generation, so that a stale id reaches nothing. A region stays mapped while anybody holds it, be it the
//! user or a transfer under way (invariant I11). Peers' regions are mapped on first use and remembered as long as the
//! link to the peer, unless whoever drives the rail says that they were dropped there.

use canele_mem::window::Window;
use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;

use canele_mem::buffer::{InBuffer, OutBuffer, RegionAddress};
use canele_mem::exposed::Exposed;
use canele_sys::atomic::{AtomicU32, AtomicU64};
use canele_sys::ids::{Rank, RegionId};
use canele_sys::segment::{Segment, SegmentError};

use crate::Reach;

/// A region of this process.
pub struct Region {
    id: RegionId,
    len: usize,
    memory: Arc<Far>,
}

/// The memory of a region, of this process or mapped from a peer; of a rank of another host there is nothing to be seen.
pub struct Far {
    base: NonNull<u8>,
    len: usize,
    /// Keeps it mapped; nothing of memory that the program keeps.
    segment: Option<Segment>,
    elsewhere: Option<Elsewhere>,
}

// SAFETY: as of `Segment`, into which `base` points: shared access gives atomics and windows only.
unsafe impl Send for Far {}
// SAFETY: as above.
unsafe impl Sync for Far {}

/// A region that cannot be mapped here: its owner does what is to be done there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Elsewhere {
    /// Whose it is.
    pub owner: Rank,
    /// Its id there.
    pub region: RegionId,
    /// Its length in bytes.
    pub bytes: usize,
}

impl Far {
    fn new(segment: Segment, len: usize) -> Self {
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
        // SAFETY: `self.clone()` keeps the `self.len` bytes mapped, or whoever made the value promised it, and none are borrowed.
        unsafe { Exposed::kept(self.base, self.len, self.clone()) }
    }

    /// Stands for memory that cannot be mapped. It seems to have no bytes, so that whoever looks for some finds the way to the
    /// owner where else it would find an error: where memory is mapped this costs nothing.
    pub fn elsewhere(place: Elsewhere) -> Self {
        Self { base: NonNull::dangling(), len: 0, segment: None, elsewhere: Some(place) }
    }

    /// `bytes` of memory, zeroed, that nobody else will see.
    ///
    /// # Errors
    /// Not enough memory.
    pub fn private(bytes: usize) -> Result<Self, SegmentError> {
        Ok(Self::new(Segment::create_reserved("canele-private", bytes)?, bytes))
    }

    /// Where it is, if it cannot be mapped here.
    pub fn place(&self) -> Option<Elsewhere> {
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
    pub fn far(&self) -> Arc<Far> {
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

/// The regions of this process and of its peers.
#[derive(Default)]
pub struct Regions {
    own: Vec<(u32, Option<Arc<Region>>)>,
    far: HashMap<(Rank, RegionId), Known>,
    wanted: Vec<(Rank, RegionId)>,
}

/// What is known of a peer's region.
enum Known {
    Asked,
    Mapped(Arc<Far>),
    Missing,
    /// It exists, and this process cannot map it now.
    Unmappable(SegmentError),
}

impl Regions {
    /// Allocates a region; its memory is real from the start.
    pub fn create(&mut self, bytes: usize) -> Result<Arc<Region>, SegmentError> {
        let segment = Segment::create_reserved("canele-region", bytes.max(1))?;
        Ok(self.add(segment, bytes))
    }

    /// Allocates a region of the program's, the pages of which become real when they are touched.
    pub fn create_on_touch(&mut self, bytes: usize) -> Result<Arc<Region>, SegmentError> {
        let segment = Segment::create("canele-region", bytes.max(1))?;
        Ok(self.add(segment, bytes))
    }

    fn add(&mut self, segment: Segment, bytes: usize) -> Arc<Region> {
        let index = match self.own.iter().position(|(_, region)| region.is_none()) {
            Some(index) => index,
            None => {
                self.own.push((0, None));
                self.own.len() - 1
            }
        };
        let (generation, place) = &mut self.own[index];
        *generation += 1;
        let id = RegionId { index: index as u32, generation: *generation };
        let memory = Arc::new(Far::new(segment, bytes));
        let region = Arc::new(Region { id, len: bytes, memory });
        *place = Some(region.clone());
        region
    }

    /// Forgets a region; transfers under way still hold it.
    pub fn drop_own(&mut self, id: RegionId) {
        if let Some((generation, place)) = self.own.get_mut(id.index as usize)
            && *generation == id.generation
        {
            *place = None;
        }
    }

    /// All regions of our own.
    pub fn all_own(&self) -> impl Iterator<Item = &Arc<Region>> {
        self.own.iter().filter_map(|(_, region)| region.as_ref())
    }

    /// A region of our own.
    pub fn own(&self, id: RegionId) -> Option<&Arc<Region>> {
        let (generation, region) = self.own.get(id.index as usize)?;
        region.as_ref().filter(|_| *generation == id.generation)
    }

    fn known(&mut self, peer: Rank, id: RegionId) -> &Known {
        let wanted = &mut self.wanted;
        self.far.entry((peer, id)).or_insert_with(|| {
            wanted.push((peer, id));
            Known::Asked
        })
    }

    /// `len` bytes of a peer's region; asks for it at the first call.
    pub fn reach(&mut self, peer: Rank, place: RegionAddress, len: usize) -> Reach<'_> {
        match self.known(peer, place.region) {
            Known::Asked => Reach::Wanted,
            Known::Missing | Known::Unmappable(_) => Reach::Refused,
            Known::Mapped(far) => {
                let offset = usize::try_from(place.offset).ok();
                offset.and_then(|at| far.window(at, len)).map_or(Reach::Refused, Reach::Here)
            }
        }
    }

    /// A peer's region, for one-sided operations: nothing while it is being asked for, then the memory or its absence.
    pub fn map(&mut self, peer: Rank, id: RegionId) -> Option<Option<Arc<Far>>> {
        match self.known(peer, id) {
            Known::Asked => None,
            Known::Missing | Known::Unmappable(_) => Some(None),
            Known::Mapped(far) => Some(Some(far.clone())),
        }
    }

    /// Why a peer's region that exists cannot be mapped here. It is asked for again by the next who needs it.
    pub fn take_unmappable(&mut self, peer: Rank, id: RegionId) -> Option<SegmentError> {
        if !matches!(self.far.get(&(peer, id)), Some(Known::Unmappable(_))) {
            return None;
        }
        match self.far.remove(&(peer, id)) {
            Some(Known::Unmappable(error)) => Some(error),
            _ => None,
        }
    }

    /// Whether there is a region to ask the launcher for.
    #[inline(always)]
    pub fn wants_any(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// The next region to ask the launcher for.
    pub fn take_wanted(&mut self) -> Option<(Rank, RegionId)> {
        self.wanted.pop()
    }

    /// The launcher's answer: nothing if there is no such region, else its file, or why this process cannot have it.
    pub fn adopt(&mut self, peer: Rank, id: RegionId, memory: Option<Result<OwnedFd, SegmentError>>) {
        let known = match memory.map(|file| file.and_then(Segment::map)) {
            Some(Ok(segment)) => {
                let len = segment.len();
                Known::Mapped(Arc::new(Far::new(segment, len)))
            }
            Some(Err(error @ SegmentError::Kernel { .. })) => Known::Unmappable(error),
            // Its owner sent a file that is no segment.
            Some(Err(_)) | None => Known::Missing,
        };
        self.far.insert((peer, id), known);
    }

    /// The peer dropped a region, or (`None`) is gone with all of them.
    pub fn forget(&mut self, peer: Rank, id: Option<RegionId>) {
        self.far.retain(|(p, r), _| *p != peer || id.is_some_and(|id| id != *r));
    }
}
