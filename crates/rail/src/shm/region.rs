//! Regions: memory that this process allocated for peers to read and write, and peers' regions mapped here.
//!
//! An id has a generation, so that a stale id reaches nothing. A region stays mapped while anybody holds it, be it the
//! user or a transfer under way. Peers' regions are mapped on first use and remembered until they are dropped there.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;

use canele_sys::atomic::{AtomicU32, AtomicU64};
use canele_sys::buffer::{InBuffer, OutBuffer, Place};
use canele_sys::ids::{Rank, RegionId};
use canele_sys::segment::{Segment, SegmentError};

use crate::{Reach, Window};

/// A region of this process.
pub struct Region {
    id: RegionId,
    len: usize,
    segment: Segment,
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

    /// The memory as a file, for the launcher to hand to peers.
    pub fn fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.segment.fd()
    }

    /// The `len` bytes from `offset`, if they lie inside.
    pub fn window(&self, offset: usize, len: usize) -> Option<Window<'_>> {
        self.segment_window().part(offset, len)
    }

    fn segment_window(&self) -> Window<'_> {
        window(&self.segment, self.len)
    }

    /// The aligned 64-bit word at `offset`, for atomic operations.
    pub fn word(&self, offset: usize) -> Option<&AtomicU64> {
        (offset.is_multiple_of(8) && offset.checked_add(8)? <= self.len)
            .then(|| self.segment.atomic_u64(offset))
    }

    /// The aligned 32-bit word at `offset`.
    pub fn word32(&self, offset: usize) -> Option<&AtomicU32> {
        (offset.is_multiple_of(4) && offset.checked_add(4)? <= self.len)
            .then(|| self.segment.atomic_u32(offset))
    }

    fn part(self: &Arc<Self>, offset: usize, len: usize) -> Option<(NonNull<u8>, Place)> {
        let start = self.segment.at(offset, len, 1).ok()?;
        (offset + len <= self.len).then_some((start, Place { region: self.id, offset: offset as u64 }))
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

fn window(segment: &Segment, len: usize) -> Window<'_> {
    // SAFETY: len <= segment.len(); the borrow keeps it mapped; regions are never borrowed as references.
    unsafe { Window::new(segment.base(), len.min(segment.len())) }
}

/// The regions of this process and of its peers.
#[derive(Default)]
pub struct Regions {
    own: Vec<(u32, Option<Arc<Region>>)>,
    far: HashMap<(Rank, RegionId), Far>,
    wanted: Vec<(Rank, RegionId)>,
}

/// What is known of a peer's region.
enum Far {
    Asked,
    Mapped(Arc<Segment>),
    Missing,
}

impl Regions {
    /// Allocates a region; its memory is real from the start.
    pub fn create(&mut self, bytes: usize) -> Result<Arc<Region>, SegmentError> {
        let segment = Segment::create("canele-region", bytes.max(1))?;
        segment.reserve(0, segment.len())?;
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
        let region = Arc::new(Region { id, len: bytes, segment });
        *place = Some(region.clone());
        Ok(region)
    }

    /// Forgets a region; transfers under way still hold it.
    pub fn drop_own(&mut self, id: RegionId) {
        if let Some((generation, place)) = self.own.get_mut(id.index as usize)
            && *generation == id.generation
        {
            *place = None;
        }
    }

    /// A region of our own.
    pub fn own(&self, id: RegionId) -> Option<&Arc<Region>> {
        let (generation, region) = self.own.get(id.index as usize)?;
        region.as_ref().filter(|_| *generation == id.generation)
    }

    /// `len` bytes of a peer's region; asks for it at the first call.
    pub fn reach(&mut self, peer: Rank, place: Place, len: usize) -> Reach<'_> {
        let key = (peer, place.region);
        let wanted = &mut self.wanted;
        let far = self.far.entry(key).or_insert_with(|| {
            wanted.push(key);
            Far::Asked
        });
        match far {
            Far::Asked => Reach::Wanted,
            Far::Missing => Reach::Refused,
            Far::Mapped(segment) => {
                let all = window(segment, segment.len());
                usize::try_from(place.offset)
                    .ok()
                    .and_then(|at| all.part(at, len))
                    .map_or(Reach::Refused, Reach::Here)
            }
        }
    }

    /// A peer's region that is mapped already, for one-sided operations.
    pub fn mapped(&self, peer: Rank, id: RegionId) -> Option<Arc<Segment>> {
        match self.far.get(&(peer, id)) {
            Some(Far::Mapped(segment)) => Some(segment.clone()),
            _ => None,
        }
    }

    /// The next region to ask the launcher for.
    pub fn take_wanted(&mut self) -> Option<(Rank, RegionId)> {
        self.wanted.pop()
    }

    /// The launcher's answer. A region that cannot be mapped is as good as missing.
    pub fn adopt(&mut self, peer: Rank, id: RegionId, memory: Option<OwnedFd>) {
        let far =
            memory.and_then(|fd| Segment::map(fd).ok()).map_or(Far::Missing, |s| Far::Mapped(Arc::new(s)));
        self.far.insert((peer, id), far);
    }

    /// The peer dropped a region, or (`None`) is gone with all of them.
    pub fn forget(&mut self, peer: Rank, id: Option<RegionId>) {
        self.far.retain(|(p, r), _| *p != peer || id.is_some_and(|id| id != *r));
    }
}
