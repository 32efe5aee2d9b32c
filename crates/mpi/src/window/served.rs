//! Accesses to memory that is not mapped here: requests that the owner's library serves, and this rank's
//! service for others.
//!
//! This module owns the wire numbers of operations and elements. Requests between two ranks are carried out
//! in the order of submission, so accumulates stay ordered. A flush waits for all of them.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use canele_engine::{
    Access, Applied, ElementOperation, ElementsOrigin, ExposedElements, ExposureKey, MOST_LANES, Pending,
    Rank, RmaLockKind, RmaOperations, RmaPlace, Tracked, Window,
};
use canele_mem::buffer::{OutBuffer, RawMut};
use canele_mem::element_lock::ElementWait;
use canele_sys::atomic::Ordering::Relaxed;

use super::Win;
use super::control::Control;
use super::elements::{Accumulation, try_accumulate, try_compare_and_swap};
use super::epoch::ASKED;
use super::exclusion::{Excluding, Exclusion};
use super::target::WinTarget;
use super::transfer::TargetData;
use crate::data::{Data, DataMut};
use crate::op::{BuiltIn, Element};
use crate::request::Request;
use crate::{Result, fail};

/// The length in bytes beyond which an access waits until a requested lock is granted. An access that reads,
/// or one behind [`ASKED_ACCESSES`] others, waits, too. Owners buffer little for waiting origins. If the
/// window is revoked meanwhile, no access is in progress in the program's memory.
const ASKED_BYTES: usize = 4 << 10;
const ASKED_ACCESSES: u64 = 32;
/// Size of a request without its data, in bytes; a short request is sent eagerly.
const HEAD: usize = 24;

/// Marks an element of unknown type; the lower bits are its size in bytes.
const UNKNOWN: u16 = 1 << 15;

impl Accumulation {
    /// Returns the operation's wire numbers.
    fn numbers(self) -> ElementOperation {
        let element = self.element.map_or(UNKNOWN | self.bytes as u16, |element| element as u16);
        ElementOperation { op: self.op as u16, element, element_bytes: self.bytes, fetch_op: self.fetch_op() }
    }

    /// Returns the operation with these wire numbers.
    fn of_numbers((op, element): (u16, u16)) -> Option<Self> {
        let op = *BuiltIn::ALL.get(usize::from(op))?;
        if element & UNKNOWN != 0 {
            return Some(Self { op, element: None, bytes: usize::from(element & !UNKNOWN) });
        }
        let element = *Element::ALL.get(usize::from(element))?;
        Some(Self { op, element: Some(element), bytes: element.size() })
    }
}

impl Win {
    fn served_place(&self, to: TargetData<'_>, at: i64) -> Result<RmaPlace> {
        let target = &self.targets[to.rank];
        let Some(window) = target.key else {
            fail!(Internal, "the memory of rank {} can neither be mapped nor is it served", to.rank);
        };
        let elements = (!to.of.is_contiguous()).then(|| (to.of.layout().clone(), to.count));
        Ok(RmaPlace { owner: target.rank, window, offset: at.cast_unsigned(), elements })
    }

    fn submit(&self, to: TargetData<'_>, at: i64, access: Access, tracked: bool) -> Result<Option<Request>> {
        let place = self.served_place(to, at)?;
        if self.targets[to.rank].epoch.load(Relaxed) & ASKED != 0 {
            let reads = !matches!(access, Access::Put { .. } | Access::Accumulate { .. });
            self.limit_before_grant(to, reads || tracked)?;
        }
        let how = if tracked { Tracked::Request } else { Tracked::Counted };
        let submitted = self.comm.engine.access(place, access, how);
        // Counted after the submission, so that a flush of another thread waits for every access that it
        // counts.
        self.targets[to.rank].served.count();
        // Relaxed: a thread that flushes another thread's access has synchronised with it.
        self.is_served.store(true, Relaxed);
        match submitted {
            Ok(pending) => Ok(pending.map(|pending| Request::send(self.comm.clone(), pending))),
            Err(refused) => Err(refused.0.into()),
        }
    }

    pub(super) fn put_served(
        &self,
        to: TargetData<'_>,
        at: i64,
        origin: Data<'_>,
        tracked: bool,
    ) -> Result<Option<Request>> {
        self.submit(to, at, Access::Put { data: self.comm.lend(origin) }, tracked)
    }

    pub(super) fn get_served(
        &self,
        from: TargetData<'_>,
        at: i64,
        into: DataMut<'_>,
        tracked: bool,
    ) -> Result<Option<Request>> {
        self.submit(from, at, Access::Get { into: self.comm.lend_mut(into) }, tracked)
    }

    pub(super) fn accumulate_served(
        &self,
        to: TargetData<'_>,
        at: i64,
        how: Accumulation,
        origin: Option<Data<'_>>,
        result: Option<DataMut<'_>>,
        tracked: bool,
    ) -> Result<Option<Request>> {
        let operation = how.numbers();
        let data = origin.map_or_else(nothing, |origin| self.comm.lend(origin));
        let access = match result {
            None => Access::Accumulate { operation, data },
            Some(result) => Access::GetAccumulate { operation, data, into: self.comm.lend_mut(result) },
        };
        self.submit(to, at, access, tracked)
    }

    pub(super) fn compare_and_swap_served(
        &self,
        to: TargetData<'_>,
        at: i64,
        [compare, new]: [Data<'_>; 2],
        result: DataMut<'_>,
    ) -> Result<()> {
        let len = to.bytes()?;
        let how = Accumulation { op: BuiltIn::Replace, element: None, bytes: len };
        let operands = compare.raw.lend_with(new.raw, len);
        let into = self.comm.lend_mut(result);
        let access = Access::CompareAndSwap { operation: how.numbers(), operands, into };
        self.submit(to, at, access, false).map(drop)
    }

    /// Waits until all served accesses to a target are complete at both ends.
    #[inline]
    pub(super) fn flush_target(&self, target: usize) -> Result<()> {
        if self.is_served.load(Relaxed) { self.flush_served(&[target], true) } else { Ok(()) }
    }

    /// Waits until the served accesses to all targets are complete at both ends.
    pub(super) fn flush_all_targets(&self) -> Result<()> {
        if !self.is_served.load(Relaxed) {
            return Ok(());
        }
        let all: Vec<usize> = (0..self.members()).collect();
        self.flush_served(&all, true)
    }

    /// Waits until the origin buffers of accesses to a target may be used again.
    #[inline]
    pub(super) fn flush_target_here(&self, target: usize) -> Result<()> {
        if self.is_served.load(Relaxed) { self.flush_served(&[target], false) } else { Ok(()) }
    }

    /// Waits until the origin buffers of accesses to all targets may be used again.
    pub(super) fn flush_all_targets_here(&self) -> Result<()> {
        let all: Vec<usize> = (0..self.members()).collect();
        if self.is_served.load(Relaxed) { self.flush_served(&all, false) } else { Ok(()) }
    }

    /// Waits for accesses to those targets that have had any since the last flush. It waits until they are
    /// complete at both ends if `there`, else at the origin.
    #[inline(never)]
    fn flush_served(&self, targets: &[usize], there: bool) -> Result<()> {
        let open = |target: &usize| Some((&self.targets[*target], self.targets[*target].served.open()?));
        let open: Vec<(&WinTarget, u64)> = targets.iter().filter_map(open).collect();
        let served = open.iter().filter_map(|(target, _)| Some((target.rank, target.key?)));
        let served: Vec<_> = served.collect();
        if served.is_empty() {
            return Ok(());
        }
        let is_asked = |(target, _): &(&WinTarget, u64)| target.epoch.load(Relaxed) & ASKED != 0;
        if open.iter().any(is_asked) {
            let is_asked = |target: &usize| self.targets[*target].epoch.load(Relaxed) & ASKED != 0;
            self.await_grants(targets.iter().copied().filter(is_asked))?;
        }
        let engine = &self.comm.engine;
        if !there {
            return Ok(engine.flush_local(&served, None)?);
        }
        let flushed = engine.flush(&served, None);
        // An error is reported once.
        open.iter().for_each(|(target, up_to)| target.served.flushed(*up_to));
        Ok(flushed?)
    }

    /// Requests the locks that the targets' libraries keep. It waits only for locks of memory that is
    /// accessed without the owner.
    pub(super) fn acquire_served(&self, targets: std::ops::Range<usize>, kind: RmaLockKind) -> Result<()> {
        let mut asked = targets.start;
        let mut result = Ok(());
        for target in targets.clone() {
            let lock =
                self.served_window(target).and_then(|it| Ok(self.comm.engine.lock_window(it, kind)?));
            if let Err(error) = lock {
                result = Err(error);
                break;
            }
            self.targets[target].epoch.fetch_or(ASKED, Relaxed);
            asked += 1;
        }
        let is_direct =
            |target: &usize| *target == self.comm.rank() || self.targets[*target].region.is_some();
        let direct = targets.clone().filter(is_direct);
        result = result.and_then(|()| self.await_grants(direct));
        if result.is_err() {
            // The first error is reported.
            let _ = self.release_served(targets.start..asked);
        }
        result
    }

    /// Waits until the requested locks of targets are granted, and the accesses behind them are complete.
    fn await_grants(&self, targets: impl Iterator<Item = usize> + Clone) -> Result<()> {
        let windows = targets.clone().map(|target| self.served_window(target)).collect::<Result<Vec<_>>>()?;
        if windows.is_empty() {
            return Ok(());
        }
        let open: Vec<_> = targets.map(|target| (target, self.targets[target].served.open())).collect();
        let engine = &self.comm.engine;
        let asked: Vec<_> = windows.into_iter().map(|window| engine.iflush(window)).collect();
        let mut result = Ok(());
        for ((target, up_to), asked) in open.into_iter().zip(asked) {
            let granted = asked.and_then(|flush| engine.await_grant(flush, self.flow()));
            if granted.is_ok() {
                up_to.into_iter().for_each(|up_to| self.targets[target].served.flushed(up_to));
                self.targets[target].epoch.fetch_and(!ASKED, Relaxed);
            }
            result = result.and(granted);
        }
        Ok(result?)
    }

    /// Waits for the grant of a requested lock if the next access must not queue behind the request. This
    /// holds for a long access, for one behind many others, and for one that accesses memory of the program
    /// (`has_memory`).
    #[cold]
    fn limit_before_grant(&self, to: TargetData<'_>, has_memory: bool) -> Result<()> {
        let most = ASKED_BYTES.min(self.comm.engine.eager_bytes()?.saturating_sub(HEAD));
        let is_little = to.bytes()? <= most && self.targets[to.rank].served.open_len() < ASKED_ACCESSES;
        if is_little && !has_memory { Ok(()) } else { self.await_grants(std::iter::once(to.rank)) }
    }

    /// Releases the locks that the targets' libraries keep; all accesses are complete at both ends.
    pub(super) fn release_served(&self, targets: std::ops::Range<usize>) -> Result<()> {
        let engine = &self.comm.engine;
        let give = |target: usize| {
            let open = self.targets[target].served.open();
            Ok((target, open, engine.iunlock(self.served_window(target)?)?))
        };
        let given: Vec<Result<(usize, Option<u64>, Pending)>> = targets.map(give).collect();
        let mut result = Ok(());
        for given in given {
            let ended = given.and_then(|(target, open, pending)| {
                let epoch = &self.targets[target].epoch;
                // If the window is revoked, another member may keep its lock for ever.
                let ended = match epoch.fetch_and(!ASKED, Relaxed) & ASKED {
                    0 => engine.wait(pending, None)?.result.map(drop),
                    _ => engine.await_grant(pending, self.flow()),
                };
                open.into_iter().for_each(|up_to| self.targets[target].served.flushed(up_to));
                Ok(ended?)
            });
            result = result.and(ended.map(drop));
        }
        result
    }

    fn served_window(&self, target: usize) -> Result<(Rank, ExposureKey)> {
        let target = &self.targets[target];
        match target.key {
            Some(key) => Ok((target.rank, key)),
            None => fail!(Internal, "the window of {} is not served", target.rank),
        }
    }
}

/// Returns an empty buffer, for operations without data.
fn nothing() -> OutBuffer {
    RawMut::of(&mut [], 0).into_raw().lend(0, 0)
}

/// A window whose memory is served: its control region, and this process's exclusion of others.
#[derive(Clone)]
struct ServedWindow {
    control: Arc<Control>,
    excluding: Excluding,
}

/// The windows of this process that the library serves to others, by lane.
#[derive(Default)]
pub struct ServedWindows([Arc<LaneWindows>; MOST_LANES as usize]);

impl ServedWindows {
    /// Returns the windows of the lane with this number.
    pub fn of_lane(&self, number: u8) -> &Arc<LaneWindows> {
        &self.0[usize::from(number)]
    }
}

/// The windows of one lane by key; another lane may have equal keys.
#[derive(Default)]
pub struct LaneWindows {
    windows: RwLock<HashMap<ExposureKey, ServedWindow>>,
}

impl LaneWindows {
    /// Adds a window.
    pub(super) fn add(&self, key: ExposureKey, control: Arc<Control>, excluding: Excluding) {
        let window = ServedWindow { control, excluding };
        self.windows.write().unwrap_or_else(PoisonError::into_inner).insert(key, window);
    }

    /// Removes a window.
    pub(super) fn remove(&self, key: ExposureKey) {
        self.windows.write().unwrap_or_else(PoisonError::into_inner).remove(&key);
    }

    /// Runs `act` with the exclusion of this process's part of a window. The caller must not wait.
    fn with<T>(&self, origin: &ElementsOrigin<'_>, act: impl FnOnce(&Exclusion<'_>) -> T) -> Option<T> {
        let windows = self.windows.read().unwrap_or_else(PoisonError::into_inner);
        let ServedWindow { control, excluding } = windows.get(&origin.window).cloned()?;
        drop(windows);
        let waiting = ElementWait { is_gone: origin.is_gone, relax: None };
        Some(act(&Exclusion::new(&control, excluding.member, excluding, waiting)))
    }
}

impl RmaOperations for LaneWindows {
    fn accumulate(
        &self,
        origin: &ElementsOrigin<'_>,
        operation: (u16, u16),
        target: &ExposedElements<'_>,
        data: &[u8],
        old: Option<&mut [u8]>,
    ) -> Applied {
        let Some(how) = Accumulation::of_numbers(operation) else { return Applied::Refused };
        let stretches = |each: &mut dyn FnMut(Window<'_>, usize)| {
            target.each(|memory, at, within, len| {
                if let Some(part) = memory.window(at, len) {
                    each(part, within);
                }
            });
        };
        match self.with(origin, |exclusion| try_accumulate(&stretches, how, exclusion, data, old)) {
            Some(Ok(true)) => Applied::Done,
            Some(Ok(false)) => Applied::Busy,
            Some(Err(_)) | None => Applied::Refused,
        }
    }

    fn compare_and_swap(
        &self,
        origin: &ElementsOrigin<'_>,
        _: (u16, u16),
        target: &ExposedElements<'_>,
        operands: [&[u8]; 2],
        old: &mut [u8],
    ) -> Applied {
        let is_one = operands.iter().all(|operand| operand.len() == old.len()) && target.len() == old.len();
        let swap = |exclusion: &Exclusion<'_>| {
            let mut swapped = None;
            target.each(|memory, at, _, len| {
                let part = memory.window(at, len).filter(|_| len == target.len());
                swapped = part.and_then(|part| try_compare_and_swap(&part, exclusion, operands));
            });
            swapped
        };
        match is_one.then(|| self.with(origin, swap)).flatten() {
            Some(Some(seen)) => {
                old.copy_from_slice(&seen);
                Applied::Done
            }
            Some(None) => Applied::Busy,
            None => Applied::Refused,
        }
    }
}
