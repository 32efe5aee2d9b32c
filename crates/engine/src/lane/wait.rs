//! Waiting: one thread makes progress, the others sleep until it has completed an operation for them
//! (invariant I7).

use std::time::{Duration, Instant};

use canele_proto::request::Cancel;
use canele_rail::{Armed, Rail};
use canele_sys::ids::RequestId;
use canele_sys::{fork, relax};

use super::awaited::{Awaited, Waiting};
use crate::Failure;
use crate::core::Core;
use crate::engine::{Engine, Locked};
use crate::lane::wait_policy::{Backoff, Next};
use crate::lanes::LaneSet;
use crate::membership::launcher_watch;

impl Engine {
    /// Makes progress until `ready` returns a value; `awaited` describes the event that the thread waits for.
    pub(crate) fn wait_for<'a, T>(
        &'a self,
        core: Locked<'a>,
        awaited: Awaited<'_>,
        ready: impl FnMut(&mut Core) -> Option<T>,
    ) -> (Locked<'a>, T) {
        let (core, value) = self.wait_before(core, None, awaited, ready);
        (core, value.expect("a wait without a deadline ends with a value"))
    }

    /// Makes progress until `ready` returns a value; returns `None` once the deadline has passed. If one
    /// request is `awaited`, `ready` returns a value only after its end. So the end of other requests need
    /// not wake this thread.
    pub(crate) fn wait_before<'a, T>(
        &'a self,
        mut core: Locked<'a>,
        deadline: Option<Instant>,
        awaited: Awaited<'_>,
        mut ready: impl FnMut(&mut Core) -> Option<T>,
    ) -> (Locked<'a>, Option<T>) {
        let mut backoff = core.lane.wait_policy.backoff();
        let mut waiting = Waiting::new(awaited, deadline.is_some());
        loop {
            if let Some(value) = ready(&mut core) {
                waiting.end(&mut core);
                self.end_wait(&mut core);
                return (core, Some(value));
            }
            waiting.trace(&core);
            core = if core.lane.waiters.has_progress_owner {
                self.wait_behind_owner(core, deadline, &mut waiting)
            } else {
                self.make_progress(core, deadline, &mut backoff, &mut waiting)
            };
            if deadline.is_some_and(|at| Instant::now() >= at) {
                waiting.end(&mut core);
                self.end_wait(&mut core);
                let value = ready(&mut core);
                return (core, value);
            }
        }
    }

    /// Hands the progress over to another thread, if this one owned it.
    #[inline]
    pub(crate) fn end_wait(&self, core: &mut Core) {
        core.lane.waiters.hand_over_progress();
        // The progress owner of the lane watches as long as it waits, also when another thread's wait ends.
        if self.lanes.watches() && !core.lane.waiters.has_progress_owner {
            self.leave_watch();
        }
    }

    /// Makes one pass for all threads, and backs off after an idle one. No thread owns the progress on
    /// return.
    fn make_progress<'a>(
        &'a self,
        mut core: Locked<'a>,
        deadline: Option<Instant>,
        backoff: &mut Backoff,
        waiting: &mut Waiting<'_>,
    ) -> Locked<'a> {
        let moved = core.pass();
        self.lanes.note_visit();
        core.lane.wake_waiters();
        if moved {
            backoff.renew();
        }
        if core.contended() {
            return self.paused(core);
        }
        if moved {
            return core;
        }
        core.watch_launcher();
        // Waiting awake would keep the peer from sending the message.
        let next = if core.lane.is_processor_wanted(None) { Next::Sleep } else { backoff.next() };
        core.lane.counts.count_waited(backoff.take_looked());
        match next {
            Next::Look => {
                waiting.after_look(&mut core);
                relax::between_looks();
                if self.lanes.are_due() { self.with_other_lanes(core) } else { core }
            }
            Next::Yield => {
                core.lane.waiters.has_progress_owner = true;
                let mut core = self.give_way(core, backoff);
                core.lane.waiters.has_progress_owner = false;
                if self.lanes.are_due() { self.with_other_lanes(core) } else { core }
            }
            Next::Sleep => self.sleep(core, deadline, waiting),
        }
    }

    /// Makes progress on other lanes, without the lock of this one.
    #[cold]
    fn with_other_lanes<'a>(&'a self, mut core: Locked<'a>) -> Locked<'a> {
        core.lane.waiters.has_progress_owner = true;
        drop(core);
        let mut core = self.lock_after_lanes();
        core.lane.waiters.has_progress_owner = false;
        core
    }

    /// Makes progress on other lanes, and takes the lock of this one, whose waits yield from now on if
    /// threads share processors.
    #[cold]
    fn lock_after_lanes(&self) -> Locked<'_> {
        let threads_share = self.look_after_lanes();
        let mut core = self.lock().expect("a thread of this process has held the lock before");
        core.lane.wait_policy.threads_share = threads_share;
        core
    }

    /// Makes one pass for a call that does not wait; returns true if anything moved. If ranks share
    /// processors and many such passes have found nothing, another process gets the processor before a
    /// further pass.
    #[inline]
    pub(crate) fn poll_once<'a>(&'a self, mut core: Locked<'a>) -> (Locked<'a>, bool) {
        let moved = core.pass();
        self.lanes.note_visit();
        if !moved {
            core.watch_launcher();
            if self.lanes.are_due_in_call() {
                drop(core);
                core = self.lock_after_lanes();
            }
        }
        if core.lane.wait_policy.poll_yields(moved) { self.poll_after_yield(core) } else { (core, moved) }
    }

    #[cold]
    fn poll_after_yield<'a>(&'a self, core: Locked<'a>) -> (Locked<'a>, bool) {
        let (mut core, _) = self.yield_processor(core);
        let moved = core.pass();
        (core, moved)
    }

    /// Gives the processor to another process, in a wait.
    pub(crate) fn give_way<'a>(&'a self, core: Locked<'a>, backoff: &mut Backoff) -> Locked<'a> {
        let (mut core, took) = self.yield_processor(core);
        core.lane.wait_policy.learn(backoff, took);
        core
    }

    /// Gives the processor to another process; returns how long that process had it.
    fn yield_processor<'a>(&'a self, mut core: Locked<'a>) -> (Locked<'a>, Duration) {
        core.lane.counts.count_yield();
        drop(core);
        let before = Instant::now();
        std::thread::yield_now();
        let took = before.elapsed();
        let mut core = self.lock().expect("a thread of this process has held the lock before");
        core.lane.counts.count_waited(took);
        (core, took)
    }

    fn sleep<'a>(
        &'a self,
        mut core: Locked<'a>,
        deadline: Option<Instant>,
        waiting: &mut Waiting<'_>,
    ) -> Locked<'a> {
        core.publish_counters();
        waiting.before_sleep(&mut core);
        if !self.begin_sleep(&mut core) {
            return core;
        }
        let longest = core.longest_sleep();
        drop(core);
        let before = Instant::now();
        let left = deadline.map(|at| at.saturating_duration_since(before));
        let at_most = left.into_iter().chain(longest).min();
        match self.has_one_lane() {
            true => self.waker.sleep(at_most),
            false => self.sleep_among_lanes(LaneSet::default(), at_most),
        }
        self.end_sleep(before.elapsed())
    }

    /// Announces the sleep of this thread, which then owns the progress. Returns false if a packet has come,
    /// so that it may not sleep.
    pub(crate) fn begin_sleep(&self, core: &mut Core) -> bool {
        if let Some(other) = core.lane.waiters.other_sleeper.take() {
            // The woken thread leaves this lane to this one.
            self.numbered_lane(other).waker.wake();
        }
        if let Armed::Work = core.lane.rails.arm() {
            return false;
        }
        core.lane.counts.sleeps += 1;
        core.lane.counts.system_calls += 2; // the barrier and the sleep
        let waiters = &mut core.lane.waiters;
        (waiters.has_progress_owner, waiters.is_owner_asleep) = (true, true);
        true
    }

    /// Takes the lock after a sleep. No thread owns the progress then.
    pub(crate) fn end_sleep(&self, slept: Duration) -> Locked<'_> {
        let mut core = self.lock().expect("a thread of this process has held the lock before");
        core.lane.counts.count_waited(slept);
        let waiters = &mut core.lane.waiters;
        (waiters.has_progress_owner, waiters.is_owner_asleep) = (false, false);
        core.lane.rails.has_slept();
        if !self.has_one_lane() {
            self.end_watched_sleep();
        }
        core.check_launcher();
        core
    }

    /// Releases the lock for a moment, so that another thread can take it. If that thread has to wait, this
    /// one stays the progress owner.
    fn paused<'a>(&'a self, mut core: Locked<'a>) -> Locked<'a> {
        core.lane.waiters.has_progress_owner = true;
        let mut core = core.pause().expect("a thread of this process has held the lock before");
        self.submit_deferred(&mut core);
        core.lane.waiters.has_progress_owner = false;
        core
    }

    /// Sleeps until the progress owner wakes this thread.
    fn wait_behind_owner<'a>(
        &'a self,
        mut core: Locked<'a>,
        deadline: Option<Instant>,
        waiting: &mut Waiting<'_>,
    ) -> Locked<'a> {
        waiting.before_sleep(&mut core);
        core.lane.waiters.add(std::thread::current(), fork::thread_number(), waiting.request());
        drop(core);
        match deadline {
            Some(at) => std::thread::park_timeout(at.saturating_duration_since(Instant::now())),
            None => std::thread::park(),
        }
        let mut core = self.lock().expect("a thread of this process has held the lock before");
        core.lane.waiters.remove(fork::thread_number());
        core
    }

    /// Waits for a request and takes its outcome; withdraws it when the deadline passes.
    pub(crate) fn wait_done<'a>(
        &'a self,
        core: Locked<'a>,
        id: RequestId,
        deadline: Option<Instant>,
    ) -> (Locked<'a>, canele_proto::request::Outcome, bool) {
        let take = |core: &mut Core| {
            // A call that waits inside learns of deaths; the receive ends with it.
            core.lane.proto.fail_pending(id);
            core.lane.proto.take(id)
        };
        let core = if deadline.is_none() && core.lane.proto.is_from_any_source(id) {
            let (mut core, outcome) = self.wait_for_any_sender(core, Awaited::Request(id), take);
            if let Some(outcome) = outcome {
                return (core, outcome, false);
            }
            core.lane.proto.give_up(id);
            core
        } else {
            core
        };
        let (mut core, outcome) = self.wait_before(core, deadline, Awaited::Request(id), take);
        if let Some(outcome) = outcome {
            return (core, outcome, false);
        }
        // If it is too late to withdraw, data is moving and the end is near. A receiver that is asked answers
        // in its next pass.
        let withdrawn = core.lane.proto.cancel(id) != Cancel::TooLate;
        let (core, outcome) = self.wait_before(core, None, Awaited::Request(id), take);
        let outcome = outcome.expect("a wait without a deadline ends with its request");
        let passed = withdrawn && matches!(outcome.result, Err(Failure::Cancelled));
        (core, outcome, passed)
    }
}

impl Engine {
    /// Wakes the thread that sleeps in the rail, because something was submitted that may concern it.
    pub(crate) fn wake_progress_owner(&self, core: &Core) {
        if core.lane.waiters.has_sleeper() {
            self.waker.wake();
        }
    }
}

impl Core {
    /// Returns the longest time for which a thread may sleep; `None` if no part has work to do by then.
    pub fn longest_sleep(&self) -> Option<Duration> {
        let rails = &self.lane.rails;
        let connections = self.connections.longest_sleep(Instant::now(), rails.has_unacknowledged());
        let launcher = self.membership.launcher.is_present().then_some(launcher_watch::INTERVAL);
        rails.longest_sleep().into_iter().chain(connections).chain(launcher).min()
    }

    /// Reads the control socket if it is time, after an idle pass.
    #[inline]
    pub fn watch_launcher(&mut self) {
        if self.membership.launcher.watch.is_clock_due() {
            self.check_launcher();
        }
    }

    /// Reads the control socket if it is time, after a sleep.
    #[cold]
    pub fn check_launcher(&mut self) {
        let launcher = &mut self.membership.launcher;
        if launcher.is_present() && launcher.watch.is_due(Instant::now()) {
            self.read_launcher();
        }
    }
}
