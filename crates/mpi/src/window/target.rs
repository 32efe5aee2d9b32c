//! Members of a window as targets: where their memory is, and which part of it an access means.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use canele_engine::{Engine, ExposureKey, Rank, RegionId, RegionMemory};
use canele_sys::atomic::{AtomicU8, AtomicU64, Ordering};

use super::{Flavor, Win};
use crate::{Result, fail};

/// A member of a window.
pub(super) struct WinTarget {
    /// Its rank in the job.
    pub rank: Rank,
    /// Bytes of its part.
    pub size: usize,
    /// Bytes of a unit of displacements.
    pub unit: usize,
    /// What permits accesses to it.
    pub epoch: AtomicU8,
    /// Under which its owner serves its part.
    pub key: Option<ExposureKey>,
    /// Accesses that it serves.
    pub served: ServedCount,
    /// The region that its part lies in, if it lies in one that can be mapped here.
    pub region: Option<RegionPart>,
    /// Where its part was found, from the first access on.
    pub memory: OnceLock<Reached>,
}

/// How many accesses the owner of a part serves were submitted, and how many of them were flushed.
#[derive(Default)]
pub(super) struct ServedCount {
    submitted: AtomicU64,
    flushed: AtomicU64,
}

// Several threads may access and flush at the same time. Each counts its access behind the submission, and a flush reads the count
// before it begins: what a flush covers was submitted before it.
impl ServedCount {
    /// Counts an access that was submitted.
    pub fn count(&self) {
        // Release: pairs with the acquire in `open`.
        self.submitted.fetch_add(1, Ordering::Release);
    }

    /// Returns up to which access a flush that begins now covers them; nothing if all are covered.
    pub fn open(&self) -> Option<u64> {
        let submitted = self.submitted.load(Ordering::Acquire);
        (submitted > self.flushed.load(Ordering::Acquire)).then_some(submitted)
    }

    /// Returns how many accesses no flush has covered.
    pub fn open_len(&self) -> u64 {
        self.submitted.load(Ordering::Acquire).saturating_sub(self.flushed.load(Ordering::Acquire))
    }

    /// A flush has ended that covered the accesses up to this one.
    pub fn flushed(&self, up_to: u64) {
        self.flushed.fetch_max(up_to, Ordering::AcqRel);
    }
}

/// Where in a region a part of a window lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct RegionPart {
    /// Whose region it is.
    pub owner: Rank,
    /// Its id there.
    pub id: RegionId,
    /// Its length in bytes.
    pub bytes: usize,
    /// Where the part begins.
    pub offset: usize,
    /// True if the window made the region.
    pub is_own: bool,
}

/// Maps a region of a rank of this host, by the first lane of this rank, which alone knows regions. One that was made for a window is unmapped with it; one of which it has a part stays mapped for
/// the next window, until its owner drops it.
///
/// # Errors
/// It does not exist any more, or this process cannot map it.
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

/// How the part of a target is reached.
pub(super) enum Reached {
    /// It is mapped here, from this offset on.
    Here(Arc<RegionMemory>, usize),
    /// By requests that its owner serves.
    Served,
}

/// Where the elements of an access lie.
pub(super) enum ElementsPlace {
    /// In memory that is mapped here; offsets of the datatype are counted from this one.
    Here(Arc<RegionMemory>, isize),
    /// At the owner; offset from the start of its part, or an address in a dynamic window.
    Served(i64),
}

impl WinTarget {
    /// Returns the `len` bytes at a displacement, if they are known to be in memory that is mapped here.
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
    /// It does not exist any more.
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

    /// Gives up what is remembered of accesses that the owner served.
    pub fn forget(&self, engine: &Engine) {
        if let Some(key) = self.key {
            let _ = engine.forget_window(self.rank, key);
        }
    }
}

impl Win {
    /// Where bytes that span this range around a displacement lie.
    ///
    /// # Errors
    /// They are not all part of the target's window; its memory cannot be found.
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

    /// The same of a dynamic window, whose displacements are addresses at the target.
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
            // What is adjacent is one memory for requests.
            None if self.targets[target].key.is_some() && is_covered(&attached, low, len) => {
                Ok(ElementsPlace::Served(disp))
            }
            None => fail!(
                RmaRange,
                "target_disp is {disp:#x}: {len} bytes at {low:#x} are accessed, which are not attached to the window"
            ),
        }
    }

    /// True if something permits accesses to all targets or to this one.
    pub(super) fn is_locked(&self, target: usize) -> bool {
        self.is_held(&self.targets[target])
    }
}

/// True if several parts that are attached hold all of the range between them.
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
