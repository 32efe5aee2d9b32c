//! Members of a window as targets: the place of their memory, and the part of it that an access names.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use canele_engine::{Engine, ExposureKey, Rank, RegionId, RegionMemory};
use canele_sys::atomic::{AtomicU8, AtomicU64, Ordering};

use super::{Flavor, Win};
use crate::{Result, fail};

/// A member of a window.
pub(super) struct WinTarget {
    /// The rank of the member in the job.
    pub rank: Rank,
    /// Size of its part in bytes.
    pub size: usize,
    /// The displacement unit of the member in bytes.
    pub unit: usize,
    /// The epochs that permit accesses to it.
    pub epoch: AtomicU8,
    /// The key under which its owner serves its part.
    pub key: Option<ExposureKey>,
    /// The number of served accesses to it.
    pub served: ServedCount,
    /// The region that holds its part, if it can be mapped here.
    pub region: Option<RegionPart>,
    /// The access path to its part, found at the first access.
    pub memory: OnceLock<Reached>,
}

/// The number of submitted accesses that the owner of a part serves, and of flushed ones.
#[derive(Default)]
pub(super) struct ServedCount {
    submitted: AtomicU64,
    flushed: AtomicU64,
}

// Several threads may access and flush at the same time. Each counts its access after the submission, and a
// flush reads the count before it begins. So every access that a flush covers was submitted before it.
impl ServedCount {
    /// Counts a submitted access.
    pub fn count(&self) {
        // Release: pairs with the acquire in `open`.
        self.submitted.fetch_add(1, Ordering::Release);
    }

    /// Returns the number of the last access that a flush beginning now covers; none if all are covered.
    pub fn open(&self) -> Option<u64> {
        let submitted = self.submitted.load(Ordering::Acquire);
        (submitted > self.flushed.load(Ordering::Acquire)).then_some(submitted)
    }

    /// Returns the number of accesses that no flush has covered.
    pub fn open_len(&self) -> u64 {
        self.submitted.load(Ordering::Acquire).saturating_sub(self.flushed.load(Ordering::Acquire))
    }

    /// Notes the end of a flush that covered the accesses up to this one.
    pub fn flushed(&self, up_to: u64) {
        self.flushed.fetch_max(up_to, Ordering::AcqRel);
    }
}

/// The place of a window's part in a region.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegionPart {
    /// The owner of the region.
    pub owner: Rank,
    /// The region's id at its owner.
    pub id: RegionId,
    /// The region's length in bytes.
    pub bytes: usize,
    /// Offset of the part in the region.
    pub offset: usize,
    /// True if the region was made for the window.
    pub is_own: bool,
}

/// Maps a region of a rank of this host. Only the first lane of this rank knows regions. A region made for a
/// window is unmapped with the window. A region of which the window is a part stays mapped until its owner
/// drops it.
///
/// # Errors
/// Fails if the region no longer exists or this process cannot map it.
pub(super) fn reach(
    engine: &Arc<Engine>,
    owner: Rank,
    id: RegionId,
    bytes: usize,
    is_own: bool,
) -> std::result::Result<Arc<RegionMemory>, canele_engine::Error> {
    let engine = engine.first_lane();
    match is_own || !engine.maps_memory_of(owner) {
        true => engine.reach_region(owner, id, bytes, None),
        false => engine.reach_kept_region(owner, id),
    }
}

/// The access path to the part of a target.
pub(super) enum Reached {
    /// Mapped here, from this offset on.
    Here(Arc<RegionMemory>, usize),
    /// By requests that its owner serves.
    Served,
}

/// The place of the elements of an access.
pub(super) enum ElementsPlace {
    /// In memory mapped here; offsets of the datatype count from this one.
    Here(Arc<RegionMemory>, isize),
    /// At the owner: an offset in its part, or an address in a dynamic window.
    Served(i64),
}

impl WinTarget {
    /// Returns the `len` bytes at a displacement, if they are known to be mapped here.
    #[inline(always)]
    pub fn here(&self, disp: i64, len: usize) -> Option<canele_engine::Window<'_>> {
        let Reached::Here(memory, offset) = self.memory.get()? else { return None };
        let at = usize::try_from(disp).ok()?.checked_mul(self.unit)?;
        if at > self.size || len > self.size - at {
            return None;
        }
        memory.window(offset + at, len)
    }

    /// Finds the memory.
    ///
    /// # Errors
    /// Fails if the memory no longer exists.
    pub fn reach(&self, engine: &Arc<Engine>) -> Result<&Reached> {
        if let Some(reached) = self.memory.get() {
            return Ok(reached);
        }
        let reached = match self.region {
            Some(region) => {
                let memory = reach(engine, region.owner, region.id, region.bytes, region.is_own)?;
                if region.offset.checked_add(self.size).is_none_or(|end| end > memory.len()) {
                    fail!(Internal, "{} has a window that exceeds its region", self.rank);
                }
                Reached::Here(memory, region.offset)
            }
            None => Reached::Served,
        };
        Ok(self.memory.get_or_init(|| reached))
    }

    /// Discards the engine's state of accesses that the owner served.
    pub fn forget(&self, engine: &Engine) {
        if let Some(key) = self.key {
            let _ = engine.forget_window(self.rank, key);
        }
    }
}

impl Win {
    /// Returns the place of bytes that span this range around a displacement.
    ///
    /// # Errors
    /// Fails if they are not all part of the target's window, or its memory cannot be found.
    pub(super) fn place(&self, target: usize, disp: i64, span: &Range<isize>) -> Result<ElementsPlace> {
        let to = &self.targets[target];
        if self.flavor == Flavor::Dynamic {
            return self.place_of_attached(target, disp, span);
        }
        let at = isize::try_from(disp).ok().and_then(|disp| disp.checked_mul(to.unit.cast_signed()));
        let bounds = at.and_then(|at| Some((at.checked_add(span.start)?, at.checked_add(span.end)?)));
        let (Some(at), Some((low, high))) = (at, bounds) else {
            fail!(
                Displacement,
                "target_disp is {disp}: with a unit of {} bytes it exceeds the address space",
                to.unit
            );
        };
        if low < 0 && disp < 0 {
            fail!(Displacement, "target_disp is {disp}: the memory lies before the window of rank {target}");
        }
        if low < 0 || high > to.size.cast_signed() {
            fail!(
                RmaRange,
                "target_disp is {disp}: bytes {low} to {high} are accessed, and the window of rank {target} has {} bytes",
                to.size
            );
        }
        Ok(match to.reach(&self.comm.engine)? {
            Reached::Here(memory, offset) => ElementsPlace::Here(memory.clone(), offset.cast_signed() + at),
            Reached::Served => ElementsPlace::Served(at as i64),
        })
    }

    /// Returns the place in a dynamic window, whose displacements are addresses at the target.
    fn place_of_attached(&self, target: usize, disp: i64, span: &Range<isize>) -> Result<ElementsPlace> {
        if target != self.comm.rank() {
            return Ok(ElementsPlace::Served(disp));
        }
        let attached = self.attached();
        let low = (disp as isize).wrapping_add(span.start).cast_unsigned();
        let len = (span.end - span.start).cast_unsigned();
        let found = attached.range(..=low).next_back().filter(|(start, memory)| {
            let within = low - *start;
            within <= memory.len() && len <= memory.len() - within
        });
        match found {
            Some((start, memory)) => {
                Ok(ElementsPlace::Here(memory.clone(), (disp as isize).wrapping_sub(start.cast_signed())))
            }
            // For requests, adjacent attached memory is one range.
            None if self.targets[target].key.is_some() && is_covered(&attached, low, len) => {
                Ok(ElementsPlace::Served(disp))
            }
            None => fail!(
                RmaRange,
                "target_disp is {disp:#x}: {len} bytes at {low:#x} are accessed, which are not attached to the window"
            ),
        }
    }

    /// Returns true if a lock or a lock on all targets permits accesses to this target.
    pub(super) fn is_locked(&self, target: usize) -> bool {
        self.is_held(&self.targets[target])
    }
}

/// Returns true if attached parts cover the whole range together.
fn is_covered(attached: &BTreeMap<usize, Arc<RegionMemory>>, low: usize, len: usize) -> bool {
    let Some(end) = low.checked_add(len) else { return false };
    let mut covered = low;
    while let Some((start, memory)) = attached.range(..=covered).next_back().filter(|_| covered < end) {
        if start + memory.len() <= covered {
            return false;
        }
        covered = start + memory.len();
    }
    covered >= end
}
