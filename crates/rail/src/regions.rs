//! The regions of this process, and the known regions of its peers.
//!
//! Owns both tables. An id has a generation, so a stale id reaches nothing. A peer's region is reached in two
//! ways:
//!
//! - By a handle ([`Regions::map`]). The table does not hold the region: the last holder that drops it unmaps
//!   it and closes its descriptor, on any thread.
//! - By transfers ([`Regions::reach`], [`Regions::map_kept`]), which name it anew with each message. It is
//!   kept until the launcher reports that its owner dropped it, or until the link to the owner is closed.
//!
//! Never asks the launcher itself: the code that drives the rail takes the requests and delivers the answers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use canele_mem::buffer::RegionAddress;
use canele_sys::ids::{Rank, RegionId};
use canele_sys::segment::{Segment, SegmentError};

use crate::Reach;
use crate::region::{Region, RegionMemory};

/// The regions of this process and of its peers.
#[derive(Default)]
pub struct Regions {
    own: Vec<(u32, Option<Arc<Region>>)>,
    /// Regions of peers that transfers named.
    kept: HashMap<(Rank, RegionId), KeptRegion>,
    /// Regions of peers that callers hold, or held.
    handles: HashMap<(Rank, RegionId), Handle>,
    /// Number of handles at which those without a holder are removed.
    sweep_at: usize,
    wanted: Vec<WantedRegion>,
}

/// A region to ask the launcher for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WantedRegion {
    /// The rank that owns it.
    pub owner: Rank,
    /// Its id at the owner.
    pub id: RegionId,
    /// True if the region is kept until its owner drops it; the launcher has to report that.
    pub is_kept: bool,
}

/// The state of a peer's region for transfers.
enum KeptRegion {
    Asked,
    Mapped(Arc<RegionMemory>),
    /// The region does not exist, or this process cannot map it. The next transfer that names it fails; the
    /// one after asks again.
    Missing(Option<SegmentError>),
}

/// The state of a peer's region for holders.
enum Handle {
    Asked,
    /// The launcher's answer, until the first caller that asked takes it.
    Answered(Mapped),
    Held(Weak<RegionMemory>),
}

/// The memory of a peer's region, none if there is no such region, or the error if this process cannot map
/// it.
pub type Mapped = Result<Option<Arc<RegionMemory>>, SegmentError>;

/// Below this number of handles, those without a holder are not removed.
const FEWEST_SWEPT: usize = 16;

impl Regions {
    /// Allocates a region whose memory is reserved from the start.
    pub fn create(&mut self, bytes: usize) -> Result<Arc<Region>, SegmentError> {
        let segment = Segment::create_reserved("canele-region", bytes.max(1))?;
        Ok(self.add_own(segment, bytes, false))
    }

    /// Allocates a region of the program whose pages are allocated when they are touched.
    pub fn create_on_touch(&mut self, bytes: usize) -> Result<Arc<Region>, SegmentError> {
        let segment = Segment::create("canele-region", bytes.max(1))?;
        Ok(self.add_own(segment, bytes, true))
    }

    fn add_own(&mut self, segment: Segment, bytes: usize, is_on_touch: bool) -> Arc<Region> {
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
        let region = Arc::new(Region::new(id, segment, bytes, is_on_touch));
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

    /// Returns all regions of this process.
    pub fn all_own(&self) -> impl Iterator<Item = &Arc<Region>> {
        self.own.iter().filter_map(|(_, region)| region.as_ref())
    }

    /// Returns a region of this process.
    pub fn own(&self, id: RegionId) -> Option<&Arc<Region>> {
        let (generation, region) = self.own.get(id.index as usize)?;
        region.as_ref().filter(|_| *generation == id.generation)
    }

    /// Returns `len` bytes of a peer's region; the first call requests it from the launcher.
    pub fn reach(&mut self, peer: Rank, place: RegionAddress, len: usize) -> Reach<'_> {
        match self.kept(peer, place.region) {
            None => Reach::Wanted,
            Some(Ok(None) | Err(_)) => Reach::Refused,
            Some(Ok(Some(far))) => {
                let offset = usize::try_from(place.offset).ok();
                offset.and_then(|at| far.window(at, len)).map_or(Reach::Refused, Reach::Here)
            }
        }
    }

    /// Returns a peer's region for memory with repeated transfers; none while the request is under way.
    pub fn map_kept(&mut self, peer: Rank, id: RegionId) -> Option<Mapped> {
        self.kept(peer, id).map(|known| known.map(Option::<&Arc<RegionMemory>>::cloned))
    }

    fn kept(
        &mut self,
        owner: Rank,
        id: RegionId,
    ) -> Option<Result<Option<&Arc<RegionMemory>>, SegmentError>> {
        match self.kept.entry((owner, id)) {
            Entry::Vacant(place) => {
                self.wanted.push(WantedRegion { owner, id, is_kept: true });
                place.insert(KeptRegion::Asked);
                None
            }
            Entry::Occupied(known) => match known.get() {
                KeptRegion::Asked => None,
                KeptRegion::Missing(_) => match known.remove() {
                    KeptRegion::Missing(Some(error)) => Some(Err(error)),
                    _ => Some(Ok(None)),
                },
                KeptRegion::Mapped(_) => match known.into_mut() {
                    KeptRegion::Mapped(far) => Some(Ok(Some(far))),
                    _ => unreachable!("it was mapped a moment ago"),
                },
            },
        }
    }

    /// Returns a peer's region for a holder; none while the request is under way. It is mapped as long as it
    /// is held.
    pub fn map(&mut self, owner: Rank, id: RegionId) -> Option<Mapped> {
        if let Some(KeptRegion::Mapped(far)) = self.kept.get(&(owner, id)) {
            return Some(Ok(Some(far.clone())));
        }
        let handle = self.handles.remove(&(owner, id));
        match handle {
            Some(Handle::Answered(Ok(Some(far)))) => {
                self.add_handle((owner, id), Handle::Held(Arc::downgrade(&far)));
                return Some(Ok(Some(far)));
            }
            Some(Handle::Answered(none)) => return Some(none),
            Some(Handle::Held(far)) => {
                if let Some(held) = far.upgrade() {
                    self.handles.insert((owner, id), Handle::Held(far));
                    return Some(Ok(Some(held)));
                }
            }
            Some(Handle::Asked) => {
                self.handles.insert((owner, id), Handle::Asked);
                return None;
            }
            None => {}
        }
        self.wanted.push(WantedRegion { owner, id, is_kept: false });
        self.add_handle((owner, id), Handle::Asked);
        None
    }

    /// Ends the wait of a caller that asked for a region by [`Regions::map`].
    pub fn give_up(&mut self, owner: Rank, id: RegionId) {
        if !matches!(self.handles.get(&(owner, id)), Some(Handle::Held(_))) {
            self.handles.remove(&(owner, id));
        }
    }

    /// Adds a handle. Removes the handles without a holder once they may be half of all.
    fn add_handle(&mut self, region: (Rank, RegionId), handle: Handle) {
        if self.handles.len() >= self.sweep_at.max(FEWEST_SWEPT) {
            self.handles.retain(|_, handle| match handle {
                Handle::Held(far) => far.strong_count() > 0,
                Handle::Asked | Handle::Answered(_) => true,
            });
            self.sweep_at = 2 * self.handles.len();
        }
        self.handles.insert(region, handle);
    }

    /// Returns true if there is a region to request from the launcher.
    #[inline(always)]
    pub fn wants_any(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Takes the next region to request from the launcher.
    pub fn take_wanted(&mut self) -> Option<WantedRegion> {
        self.wanted.pop()
    }

    /// Takes the launcher's answer: none if there is no such region, otherwise its file, or the error that
    /// withholds it. An answer that no call waits for is dropped.
    pub fn adopt(&mut self, owner: Rank, id: RegionId, memory: Option<Result<OwnedFd, SegmentError>>) {
        let region = (owner, id);
        let is_kept_asked = matches!(self.kept.get(&region), Some(KeptRegion::Asked));
        let is_handle_asked = matches!(self.handles.get(&region), Some(Handle::Asked));
        if memory.is_none() && !is_kept_asked {
            // The owner dropped it between two requests. After the first of them the launcher does not report
            // that.
            self.kept.remove(&region);
        }
        if !is_kept_asked && !is_handle_asked {
            return;
        }
        let mapped = match memory.map(|file| file.and_then(Segment::map)) {
            Some(Ok(segment)) => {
                let len = segment.len();
                Ok(Some(Arc::new(RegionMemory::new(segment, len))))
            }
            Some(Err(error @ SegmentError::Kernel { .. })) => Err(error),
            // The owner sent a file that is no segment.
            Some(Err(_)) | None => Ok(None),
        };
        if is_kept_asked {
            let kept = match &mapped {
                Ok(Some(far)) => KeptRegion::Mapped(far.clone()),
                Ok(None) => KeptRegion::Missing(None),
                Err(error) => KeptRegion::Missing(Some(error.clone())),
            };
            self.kept.insert(region, kept);
        }
        if is_handle_asked {
            self.handles.insert(region, Handle::Answered(mapped));
        }
    }

    /// Forgets a dropped region of the owner, or (`None`) all its regions. Transfers reach it no more;
    /// holders keep it.
    pub fn forget(&mut self, owner: Rank, id: Option<RegionId>) {
        match id {
            // A pending request still gets its answer.
            Some(id) => {
                if matches!(self.kept.get(&(owner, id)), Some(KeptRegion::Mapped(_))) {
                    self.kept.remove(&(owner, id));
                }
            }
            // A later answer is dropped: a caller that waits for it asks as a holder.
            None => self.kept.retain(|(of, _), _| *of != owner),
        }
    }

    /// Returns the number of peers' regions that are mapped here or requested.
    pub fn known_len(&self) -> usize {
        let is_live = |handle: &&Handle| !matches!(handle, Handle::Held(far) if far.strong_count() == 0);
        self.kept.len() + self.handles.values().filter(is_live).count()
    }
}

#[cfg(test)]
mod tests;
