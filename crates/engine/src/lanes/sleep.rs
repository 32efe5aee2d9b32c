//! The sleep of a thread whose rank has several lanes: on its own lane, and on those that no thread looks
//! after. It sleeps on all by their words or, in a job with several hosts, by their descriptors.

use std::sync::PoisonError;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use canele_rail::{Armed, Rail};
use canele_sys::sleep::Slept;

use super::LaneSet;
use super::watch::{Role, Watch};
use crate::engine::Engine;

/// The longest sleep of a watcher while threads come and go on other lanes.
const ACTIVE_SLEEP: Duration = Duration::from_millis(1);

/// The state of another lane for which a thread is about to sleep, too.
enum OtherLane {
    /// A packet has come.
    Work,
    /// A thread makes progress, or has since the last look.
    Active,
    /// No thread was there. Only one of the two lanes sleeps on descriptors, so this thread cannot sleep for
    /// it, and has made a pass there.
    Unwatchable,
    /// A thread sleeps for it, or nothing will come any more.
    Quiet,
    /// No thread was there, and a sleep is announced, with its longest duration.
    Armed(Option<Duration>),
}

impl Engine {
    /// Sleeps on this lane, whose sleep is announced, and on the lanes `also` that no thread looks after. The
    /// watcher of the rank sleeps on all such lanes. The caller holds no lane's lock.
    #[cold]
    pub(crate) fn sleep_among_lanes(&self, also: LaneSet, at_most: Option<Duration>) {
        let number = self.lanes.number;
        let role = self.with_watch(|watch| {
            let role = watch.begin(number);
            self.lanes.watches.store(role != Role::Sleeper, Relaxed);
            role
        });
        let (mut armed, mut longest) = (LaneSet::default(), at_most);
        let (mut has_work, mut are_quiet) = (false, true);
        let others = if role == Role::Sleeper { also } else { self.all_lanes() };
        for other in others.iter().filter(|other| *other != number) {
            match self.arm_other(other, also.has(other)) {
                OtherLane::Work => has_work = true,
                OtherLane::Active => are_quiet = false,
                OtherLane::Unwatchable => {
                    are_quiet = false;
                    longest = longest.into_iter().chain([ACTIVE_SLEEP]).min();
                }
                OtherLane::Quiet => {}
                OtherLane::Armed(limit) => {
                    armed.add(other);
                    longest = longest.into_iter().chain(limit).min();
                }
            }
        }
        if let Role::Watcher(changes) = role
            && !(are_quiet && self.with_watch(|watch| watch.sleep_for_good(changes)))
        {
            longest = longest.into_iter().chain([ACTIVE_SLEEP]).min();
        }
        // After all announcements: the end of a conjunction from now on wakes this thread.
        has_work |= self.advance_lane_agreements();
        let slept = if has_work { self.stay_awake() } else { self.sleep_on_lanes(armed, longest) };
        armed.iter().for_each(|other| self.numbered_lane(other).end_sleep_of_other(number, slept));
    }

    /// Takes back the announcement that this lane's thread sleeps.
    pub(crate) fn stay_awake(&self) -> Slept {
        self.waker.disarm();
        Slept::Ended
    }

    /// Notes that the thread of this lane sleeps no more, and no longer owns its progress. A watcher in a
    /// long sleep looks at the lane anew.
    pub(crate) fn end_watched_sleep(&self) {
        self.change_watch(|watch| watch.end(self.lanes.number));
    }

    /// Sleeps on this lane and the lanes `armed`.
    fn sleep_on_lanes(&self, armed: LaneSet, at_most: Option<Duration>) -> Slept {
        if armed.is_empty() {
            self.waker.sleep(at_most);
            return Slept::Ended;
        }
        let others = armed.iter().map(|number| &self.numbered_lane(number).waker);
        match self.waker.sleep_with(others, at_most) {
            Slept::Napped => Slept::Napped,
            Slept::Ended => {
                self.waker.disarm();
                Slept::Ended
            }
            Slept::Unsupported => {
                self.waker.sleep(at_most.into_iter().chain([ACTIVE_SLEEP]).min());
                Slept::Ended
            }
        }
    }

    /// Announces that this thread sleeps for another lane, too, unless a thread is there. With `must` it does
    /// so even if one was there lately.
    fn arm_other(&self, number: u8, must: bool) -> OtherLane {
        let lane = self.numbered_lane(number);
        let visits = lane.lanes.visits.load(Relaxed);
        let was_visited = self.lanes.seen[usize::from(number)].swap(visits, Relaxed) != visits;
        if was_visited && !must {
            return OtherLane::Active;
        }
        let Ok(mut core) = lane.lock() else { return OtherLane::Quiet };
        let waiters = &core.lane.waiters;
        if waiters.has_progress_owner {
            return if waiters.is_owner_asleep { OtherLane::Quiet } else { OtherLane::Active };
        }
        // Another thread that sleeps for it makes progress there, which wakes the waiters.
        if waiters.other_sleeper.is_some() || core.check().is_err() {
            return OtherLane::Quiet;
        }
        // A further pass may advance what this one moved, without a new packet.
        let moved = core.pass();
        core.check_launcher();
        core.lane.wake_waiters();
        if moved {
            return OtherLane::Work;
        }
        if self.waker.watches() != lane.waker.watches() {
            return OtherLane::Unwatchable;
        }
        match core.lane.rails.arm() {
            Armed::Ready => {
                core.lane.waiters.other_sleeper = Some(self.lanes.number);
                OtherLane::Armed(core.longest_sleep())
            }
            _ => OtherLane::Work,
        }
    }

    /// Ends the sleep of the thread of the lane `sleeper` for this one, and looks at it once in place of its
    /// threads.
    fn end_sleep_of_other(&self, sleeper: u8, slept: Slept) {
        let Ok(mut core) = self.lock() else { return };
        let waiters = &mut core.lane.waiters;
        // A thread of this lane that sleeps by now has taken it away.
        waiters.other_sleeper.take_if(|other| *other == sleeper);
        if slept == Slept::Napped {
            if !waiters.has_progress_owner {
                core.lane.rails.has_slept();
            }
            return;
        }
        if waiters.has_sleeper() {
            // A thread of this lane sleeps by now, or a further one of another lane: the wake-up may have
            // been meant for it.
            self.waker.wake_all();
        } else {
            self.waker.disarm();
            if !waiters.has_progress_owner {
                core.lane.rails.has_slept();
            }
        }
        if !core.lane.waiters.has_progress_owner && core.check().is_ok() {
            core.pass();
            core.check_launcher();
            core.lane.wake_waiters();
        }
    }

    /// Hands the watch to another sleeping thread, because the wait of this lane's thread, which watched, is
    /// over.
    #[cold]
    pub(crate) fn leave_watch(&self) {
        // The marks change under the lock of the watch. Otherwise a thread that is given the watch could end
        // its wait without seeing that.
        self.change_watch(|watch| {
            self.lanes.watches.store(false, Relaxed);
            let next = watch.leave(self.lanes.number)?;
            self.numbered_lane(next).lanes.watches.store(true, Relaxed);
            Some(next)
        });
    }

    /// Changes the state of sleeping threads, and wakes the thread of the lane that the change returns.
    pub(super) fn change_watch(&self, change: impl FnOnce(&mut Watch) -> Option<u8>) {
        if let Some(watcher) = self.with_watch(change) {
            self.numbered_lane(watcher).waker.wake();
        }
    }

    fn with_watch<T>(&self, use_it: impl FnOnce(&mut Watch) -> T) -> T {
        use_it(&mut self.first().lanes.watch.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
