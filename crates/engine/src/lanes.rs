//! The lanes of a rank: engines beside its first, so that threads on different flows do not wait for one
//! lock.
//!
//! Each lane is an engine of its own, with its lock, protocols, inbox, waiters and collectives. It
//! communicates only with the same lane of other ranks. The first lane owns the state that a rank has once:
//! memory that peers reach, names, and growth. A lane is opened when a flow is first made on it. No thread
//! ever holds the locks of two lanes.
//!
//! *Progress.* A thread that waits looks after the other lanes of its rank now and then. It makes progress on
//! those on which no thread has made progress since its last look. One of the sleeping threads does so as
//! well.

mod opening;
mod set;
mod settings;
mod sleep;
mod watch;
#[cfg(test)]
mod watch_models;

use std::sync::{Arc, Mutex, OnceLock};

use canele_control::{JobInfo, MOST_LANES, RankPlace};
use canele_sys::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use canele_sys::clock::monotonic_ns;
use canele_sys::ids::FlowId;
use canele_sys::tunables::Tunables;
use canele_sys::{fork, topology};

use crate::Error;
use crate::collective::LaneAgreements;
use crate::engine::Engine;
use crate::p2p::pending::Pending;
pub use set::{LaneSet, WantedLane};
use settings::LaneSettings;
use watch::Watch;

/// The number of idle looks of a wait before it looks at other lanes.
const LOOKS: u32 = 256;

/// The time after the last look at other lanes at which a call that does not wait looks again.
const LOOK_INTERVAL_NS: u64 = 10_000;

/// The number of a lane, and the state that it shares with the others of its rank.
pub(crate) struct Lanes {
    number: u8,
    /// The rank's first lane, which is kept for the rest of the process; `None` in the first lane itself.
    pub first: Option<Arc<Engine>>,
    /// On the first lane: the further lanes that are open.
    further: [OnceLock<Arc<Engine>>; MOST_LANES as usize - 1],
    /// On the first lane: the lanes that it has asked the launcher for, once each. Held while a lane is
    /// opened, or a setting changed.
    opening: Mutex<LaneSet>,
    /// True if there are several lanes, or will be: waits then have work between looks and before sleeps.
    are_several: AtomicBool,
    /// The number of times that threads have made progress here.
    visits: AtomicU32,
    /// The thread that made progress here last, if the rank has several lanes.
    visitor: AtomicU64,
    /// The `visits` of the others at the last look of a thread of this lane.
    seen: [AtomicU32; MOST_LANES as usize],
    looks: AtomicU32,
    /// The time of the last look at other lanes by a call that did not wait.
    looked_at_ns: AtomicU64,
    /// On the first lane: the threads of the rank that sleep.
    watch: Mutex<Watch>,
    /// True if the thread of this lane that sleeps, or has slept in its wait, watches the others.
    watches: AtomicBool,
    /// On the first lane: see [`Lanes::processors`].
    processors: OnceLock<u32>,
    /// On the first lane: the settings of all lanes.
    settings: Mutex<LaneSettings>,
    /// On the first lane: agreements on flows of lanes that are under way.
    pub agreements: Mutex<LaneAgreements>,
}

impl Lanes {
    /// Makes the state of a rank's first lane.
    pub fn first() -> Self {
        Self::numbered(0, None)
    }

    fn numbered(number: u8, first: Option<Arc<Engine>>) -> Self {
        Self {
            number,
            are_several: AtomicBool::new(number > 0),
            first,
            further: [const { OnceLock::new() }; _],
            opening: Mutex::default(),
            visits: AtomicU32::new(0),
            visitor: AtomicU64::new(0),
            seen: [const { AtomicU32::new(0) }; _],
            looks: AtomicU32::new(0),
            looked_at_ns: AtomicU64::new(0),
            watch: Mutex::default(),
            watches: AtomicBool::new(false),
            processors: OnceLock::new(),
            settings: Mutex::default(),
            agreements: Mutex::default(),
        }
    }

    pub fn number(&self) -> u8 {
        self.number
    }

    /// Notes that a thread makes progress here.
    #[inline]
    pub fn note_visit(&self) {
        // Relaxed, and no atomic addition: a reader compares two values, and the lock of the lane is held.
        self.visits.store(self.visits.load(Relaxed).wrapping_add(1), Relaxed);
        if self.are_several.load(Relaxed) {
            self.visitor.store(fork::thread_number(), Relaxed);
        }
    }

    /// Returns true if the rank has several lanes and it is time for a look at the others. Counts the look.
    #[inline]
    pub fn are_due(&self) -> bool {
        if !self.are_several.load(Relaxed) {
            return false;
        }
        let looks = self.looks.load(Relaxed).wrapping_add(1);
        self.looks.store(looks, Relaxed);
        looks.is_multiple_of(LOOKS)
    }

    /// Returns true if the rank has several lanes and a call that does not wait is to look at the others.
    #[inline]
    pub fn are_due_in_call(&self) -> bool {
        self.are_several.load(Relaxed) && self.are_due_by_clock()
    }

    #[cold]
    fn are_due_by_clock(&self) -> bool {
        let now = monotonic_ns();
        let is_due = now.saturating_sub(self.looked_at_ns.load(Relaxed)) >= LOOK_INTERVAL_NS;
        if is_due {
            self.looked_at_ns.store(now, Relaxed);
        }
        is_due
    }

    /// Returns the number of processors for the threads of this rank, at least 1: its share of the processors
    /// that the ranks of its host can use.
    fn processors(&self, job: &JobInfo, place: RankPlace) -> u32 {
        *self
            .processors
            .get_or_init(|| (job.processors / place.local_size.max(1)).min(topology::usable()).max(1))
    }

    /// Returns true if the wait of this lane's thread, which ends now, has watched other lanes.
    #[inline]
    pub fn watches(&self) -> bool {
        // Relaxed: another thread sets it while this one sleeps, and holds the lock of `watch`, which this
        // one takes afterwards.
        self.watches.load(Relaxed)
    }

    /// Makes the waits of the first lane look after lanes from now on. A thread that does not see it yet sees
    /// it at its next look.
    pub fn expect_several(&self) {
        self.are_several.store(true, Relaxed);
    }

    /// Returns the open lanes of the rank without the first.
    fn open(&self) -> impl Iterator<Item = &Arc<Engine>> {
        self.further.iter().filter_map(OnceLock::get)
    }
}

/// Returns the number of lanes that a rank of this job may have.
fn most_lanes(job: &JobInfo, tunables: &Tunables) -> u8 {
    let lanes = match tunables.lanes {
        _ if job.launcher == 0 => 1,
        0 => job.lanes.into(),
        lanes => lanes,
    };
    lanes.clamp(1, MOST_LANES.into()) as u8
}

/// Returns the most bytes that the lane of this number holds for messages without a receive. The first has
/// the full setting, the others share as much again. All ranks compute it alike.
pub(crate) fn unexpected_bytes_of_lane(number: u8, job: &JobInfo, tunables: &Tunables) -> u64 {
    let all = tunables.unexpected_bytes as u64;
    if number == 0 { all } else { all / u64::from(most_lanes(job, tunables)) }
}

impl Engine {
    /// Returns the first lane of this rank.
    pub(crate) fn first(&self) -> &Self {
        self.lanes.first.as_deref().unwrap_or(self)
    }

    /// Returns true if no other lane of this rank is open.
    #[inline(always)]
    pub(crate) fn has_one_lane(&self) -> bool {
        !self.lanes.are_several.load(Relaxed)
    }

    /// Returns the open lane of this number of this rank.
    ///
    /// # Panics
    /// The lane is not open; no operation is on such a lane.
    #[inline(always)]
    pub fn numbered_lane(&self, number: u8) -> &Self {
        self.lane_if_open(number).expect("an operation is of a lane that is open")
    }

    /// Returns the lane of this number of this rank, if it is open.
    #[inline(always)]
    pub fn lane_if_open(&self, number: u8) -> Option<&Self> {
        if number == self.lanes.number { Some(self) } else { self.other_lane_if_open(number) }
    }

    #[cold]
    fn other_lane_if_open(&self, number: u8) -> Option<&Self> {
        if number == 0 { Some(self.first()) } else { self.further_lane(number).map(|lane| &**lane) }
    }

    /// Returns the lane of this number beyond the first, if it is open.
    fn further_lane(&self, number: u8) -> Option<&Arc<Self>> {
        self.first().lanes.further.get(usize::from(number).checked_sub(1)?)?.get()
    }

    /// Returns the lane of an operation.
    #[inline(always)]
    pub(crate) fn lane_of(&self, pending: Pending) -> &Self {
        if pending.lane == self.lanes.number { self } else { self.numbered_lane(pending.lane) }
    }

    /// Makes progress once on these lanes of this rank, or on all if the set is empty; returns true if
    /// anything moved.
    ///
    /// # Errors
    /// `Forked`.
    pub fn poll_lanes(&self, lanes: LaneSet) -> Result<bool, Error> {
        let lanes = if lanes == LaneSet::default() { self.all_lanes() } else { lanes };
        lanes
            .iter()
            .map(|lane| self.numbered_lane(lane).poll())
            .try_fold(false, |any, moved| Ok(any | moved?))
    }

    /// Returns the number of this lane among those of its rank; 0 for the first.
    pub fn lane_number(&self) -> u8 {
        self.lanes.number
    }

    /// Returns the first lane of this rank, which owns the state that a rank has once: names, ports, started
    /// processes, windows.
    pub fn first_lane(self: &Arc<Self>) -> &Arc<Self> {
        self.lanes.first.as_ref().unwrap_or(self)
    }

    /// Returns the number of lanes that a rank may have, equal on all ranks with which the job started. It is
    /// 1 without a launcher.
    pub fn most_lanes(&self) -> u8 {
        most_lanes(self.job(), &self.tunables)
    }

    /// Makes progress on the other lanes of this rank on which no thread has since the last call. Returns
    /// true if the rank has more waiting threads on its lanes than processors. Advances agreements on flows
    /// of lanes. The caller holds no lane's lock.
    #[cold]
    pub(crate) fn look_after_lanes(&self) -> bool {
        let first = self.first();
        let mut waiting = 1u32;
        for lane in std::iter::once(first).chain(first.lanes.open().map(|lane| &**lane)) {
            if lane.lanes.number != self.lanes.number {
                let visits = lane.lanes.visits.load(Relaxed);
                if self.lanes.seen[usize::from(lane.lanes.number)].swap(visits, Relaxed) == visits {
                    lane.visit();
                } else if lane.lanes.visitor.load(Relaxed) != fork::thread_number() {
                    waiting += 1;
                }
            }
        }
        self.advance_lane_agreements();
        waiting > first.lanes.processors(first.job(), first.place())
    }

    /// Returns the open lanes of this rank.
    pub(crate) fn all_lanes(&self) -> LaneSet {
        let first = self.first();
        let further = first.further_lanes().map(|lane| lane.lanes.number);
        further.fold(LaneSet::default().with(0), LaneSet::with)
    }

    /// Makes one pass in place of the threads of this lane, unless one of them makes progress or sleeps.
    fn visit(&self) {
        let Ok(mut core) = self.lock() else { return };
        if !core.lane.waiters.has_progress_owner && core.check().is_ok() {
            core.pass();
            core.lane.wake_waiters();
        }
    }

    /// Returns the open further lanes of this rank, if this one is its first.
    pub(crate) fn further_lanes(&self) -> impl Iterator<Item = &Arc<Self>> {
        self.lanes.open()
    }

    /// Returns true if the members of the flow of collectives `parent` may have flows on further lanes. The
    /// result is equal on all members. It is false if a member was added later, because a rank of another job
    /// may have another number of lanes.
    ///
    /// # Errors
    /// The job is over.
    pub fn may_have_lanes(&self, parent: FlowId) -> Result<bool, Error> {
        if self.most_lanes() == 1 {
            return Ok(false);
        }
        let (mut core, state) = self.begin(parent)?;
        let size = self.job().size;
        let at_start = state.members().is_none_or(|members| members.iter().all(|rank| rank.0 < size));
        self.give_back(&mut core, parent, state);
        Ok(at_start)
    }

    /// Returns the lane of the next flow that all members of the flow of collectives `parent` make. All of
    /// them count alike.
    pub(crate) fn next_lane(&self, parent: FlowId) -> Result<u8, Error> {
        let (mut core, mut state) = self.begin(parent)?;
        let number = state.count_child();
        self.give_back(&mut core, parent, state);
        Ok(((u32::from(self.lanes.number) + number) % u32::from(self.most_lanes())) as u8)
    }
}

#[cfg(test)]
mod tests {
    use canele_control::Host;

    use super::*;

    #[test]
    fn further_lanes_together_hold_at_most_as_much_as_the_first() {
        for lanes in [1, 2, 3, 16] {
            let job =
                JobInfo { launcher: 1, lanes, ..JobInfo::new(vec![Host { name: String::new(), ranks: 2 }]) };
            let tunables = Tunables { unexpected_bytes: 1000, ..Tunables::default() };
            let of_lane = |number| unexpected_bytes_of_lane(number, &job, &tunables);
            assert_eq!(of_lane(0), 1000);
            assert!((1..lanes).map(of_lane).sum::<u64>() <= 1000, "{lanes} lanes");
            assert!((1..lanes).all(|number| of_lane(number) > 0));
        }
    }
}
