//! Waiting for operations of several lanes of this rank, each of which has a lock of its own.
//!
//! Such a wait looks at one lane after the other. It sleeps as the progress owner of one of them, and for
//! those without a thread as well. Threads that make progress on others wake it.

use std::time::{Duration, Instant};

use canele_sys::{fork, relax};

use super::any_sender::RECOUNT_INTERVAL;
use super::pending::{Completion, Pending};
use crate::Error;
use crate::core::Core;
use crate::engine::Engine;
use crate::lane::awaited::{Awaited, Waiting};
use crate::lane::wait_policy::Next;
use crate::lanes::LaneSet;

/// The end of a wait in which nothing becomes ready.
#[derive(Clone, Copy)]
enum Until {
    /// The wait has no other end.
    Ready,
    /// No rank or thread is left that could send for a receive from any source.
    AnySender,
    Deadline(Instant),
}

impl Until {
    /// Returns the longest time that is left.
    fn left(self, now: Instant) -> Option<Duration> {
        match self {
            Self::Ready | Self::AnySender => None,
            Self::Deadline(at) => Some(at.saturating_duration_since(now)),
        }
    }
}

/// The result of a wait.
enum Ended<T> {
    Ready(T),
    ByProgram,
    /// Its deadline has passed.
    Passed,
    NoSenderLeft,
}

/// Returns the lanes of these operations and those of `also`.
fn lanes_of(list: &[Pending], also: LaneSet) -> LaneSet {
    list.iter().fold(also, |set, one| set.with(one.lane))
}

/// The part of a wait that concerns one lane.
struct LaneWait<'a> {
    lane: &'a Engine,
    operations: &'a [Pending],
    waiting: Waiting<'a>,
}

impl Engine {
    /// Returns the lane of all of these operations and of `also`, if it is one.
    #[inline(always)]
    pub(super) fn only_lane_of(&self, list: &[Pending], also: LaneSet) -> Option<&Engine> {
        if self.has_one_lane() { Some(self) } else { self.only_lane_of_several(list, also) }
    }

    #[cold]
    fn only_lane_of_several(&self, list: &[Pending], also: LaneSet) -> Option<&Engine> {
        let mut lanes = lanes_of(list, also).iter();
        match (lanes.next(), lanes.next()) {
            (None, _) => Some(self),
            (Some(one), None) => Some(self.numbered_lane(one)),
            _ => None,
        }
    }

    /// Waits as [`Engine::wait_any`].
    pub(super) fn wait_any_of_lanes(
        &self,
        list: &[Pending],
        deadline: Option<Instant>,
    ) -> Result<(usize, Completion), Error> {
        let ready = |core: &mut Core, at: usize| {
            list[at].request().map(|id| core.lane.proto.fail_pending(id));
            Some((at, list[at].take(core)?))
        };
        let wait = |until| self.wait_on_lanes(list, LaneSet::default(), until, ready, None);
        let mut ended = wait(deadline.map_or(Until::AnySender, Until::Deadline))?;
        if matches!(ended, Ended::NoSenderLeft) {
            self.give_up_one(list)?;
            ended = wait(Until::Ready)?;
        }
        match ended {
            Ended::Ready(found) => Ok(found),
            _ => Err(Error::Deadline(format!("{} operations", list.len()))),
        }
    }

    /// Waits as [`Engine::await_any`].
    pub(super) fn await_any_of_lanes(
        &self,
        list: &[Pending],
        also: LaneSet,
        by_program: Option<&dyn Fn() -> bool>,
    ) -> Result<(), Error> {
        let ready = |core: &mut Core, at: usize| {
            (list[at].has_ended(core) || list[at].is_in_doubt(core)).then_some(())
        };
        let until = if by_program.is_some() { Until::Ready } else { Until::AnySender };
        if let Ended::NoSenderLeft = self.wait_on_lanes(list, also, until, ready, by_program)? {
            self.give_up_one(list)?;
        }
        Ok(())
    }

    /// Ends one of these operations that receives from any source, because no message can come for it.
    fn give_up_one(&self, list: &[Pending]) -> Result<(), Error> {
        for one in list {
            if one.give_up(&mut *self.lane_of(*one).lock()?) {
                break;
            }
        }
        Ok(())
    }

    /// Makes progress on the lanes of these operations, and on `also`. Ends when `ready` returns a value for
    /// one of them, by its number, or `by_program` returns true.
    fn wait_on_lanes<T>(
        &self,
        list: &[Pending],
        also: LaneSet,
        until: Until,
        ready: impl FnMut(&mut Core, usize) -> Option<T>,
        by_program: Option<&dyn Fn() -> bool>,
    ) -> Result<Ended<T>, Error> {
        let awaited = if by_program.is_some() { Awaited::AnyOfOrProgram } else { Awaited::AnyOf };
        let ends_otherwise = by_program.is_some() || matches!(until, Until::Deadline(_));
        let lanes = lanes_of(list, also);
        let of_lane = |number| list.iter().filter(|one| one.lane == number).copied().collect();
        let operations: Vec<(u8, Vec<Pending>)> =
            lanes.iter().map(|number| (number, of_lane(number))).collect();
        let mut waits: Vec<LaneWait<'_>> = Vec::new();
        for (number, operations) in &operations {
            let waiting = Waiting::new(awaited(operations), ends_otherwise);
            waits.push(LaneWait { lane: self.numbered_lane(*number), operations, waiting });
        }
        // A trace shows it as one wait.
        let mut whole = Waiting::new(awaited(list), ends_otherwise);
        let traced = list.first().map_or(self, |one| self.lane_of(*one));
        if self.tracer.is_some() {
            whole.trace(&*traced.lock()?);
        }
        let found = self.wait_on_all(list, &mut waits, until, ready, by_program);
        if self.tracer.is_some() {
            whole.end(&mut *traced.lock()?);
        }
        for wait in waits {
            let mut core = wait.lane.lock()?;
            wait.waiting.end(&mut core);
            wait.lane.end_wait(&mut core);
        }
        found
    }

    fn wait_on_all<T>(
        &self,
        list: &[Pending],
        waits: &mut [LaneWait<'_>],
        until: Until,
        mut ready: impl FnMut(&mut Core, usize) -> Option<T>,
        by_program: Option<&dyn Fn() -> bool>,
    ) -> Result<Ended<T>, Error> {
        let is_over = || by_program.is_some_and(|is_done| is_done());
        let mut backoff = self.lock()?.lane.wait_policy.backoff();
        // True if no other thread was left at the last look.
        let mut was_only_thread = false;
        loop {
            let (mut moved, mut any_source, mut are_alone) = (false, false, true);
            for LaneWait { lane, .. } in &*waits {
                let (mut core, has_moved) = lane.poll_once(lane.lock()?);
                core.lane.wake_waiters();
                moved |= has_moved;
                for at in (0..list.len()).filter(|at| list[*at].lane == lane.lane_number()) {
                    if let Some(found) = ready(&mut core, at) {
                        return Ok(Ended::Ready(found));
                    }
                    any_source |= matches!(until, Until::AnySender) && list[at].is_from_any_source(&core);
                }
                are_alone &= core.lane.proto.is_alone();
            }
            if is_over() {
                return Ok(Ended::ByProgram);
            }
            let now = Instant::now();
            let mut left = until.left(now);
            if left == Some(Duration::ZERO) {
                return Ok(Ended::Passed);
            }
            if moved {
                backoff.renew();
                continue;
            }
            let mut next = backoff.next();
            if any_source && are_alone {
                if was_only_thread {
                    return Ok(Ended::NoSenderLeft);
                }
                // The next look finds messages of a thread that ended before it was counted.
                was_only_thread = self.is_only_thread();
                if was_only_thread {
                    continue;
                }
                (next, left) = (Next::Sleep, Some(RECOUNT_INTERVAL));
            }
            match next {
                Next::Look => relax::between_looks(),
                Next::Yield => std::thread::yield_now(),
                Next::Sleep => sleep_on(waits, left, is_over)?,
            }
        }
    }
}

/// Sleeps until a packet may have come on one of these lanes; not if `is_over` returns true, because the
/// program has ended the wait.
fn sleep_on(
    waits: &mut [LaneWait<'_>],
    left: Option<Duration>,
    is_over: impl Fn() -> bool,
) -> Result<(), Error> {
    let Some(own) = become_owner(waits)? else { return Ok(()) };
    let me = fork::thread_number();
    let sleep = own.map(|own| waits[own].lane.waker.clone());
    let (mut others, mut has_ended) = (LaneSet::default(), false);
    for (at, wait) in waits.iter_mut().enumerate() {
        let mut core = wait.lane.lock()?;
        let has_left = own.is_none() && !core.lane.waiters.has_progress_owner;
        has_ended |= has_left || wait.has_ended(&mut core);
        wait.waiting.before_sleep(&mut core);
        if Some(at) == own {
            continue;
        }
        others.add(wait.lane.lane_number());
        match &sleep {
            Some(sleep) => core.lane.waiters.add_of_other_lane(sleep.clone(), me, wait.waiting.request()),
            None => core.lane.waiters.add(std::thread::current(), me, wait.waiting.request()),
        }
    }
    // Checked after all that: an action of the program from now on wakes this thread.
    let may_sleep = !has_ended && !is_over();
    let before = Instant::now();
    match own.map(|own| waits[own].lane) {
        Some(lane) => lane.sleep_as_owner(others, left, may_sleep)?,
        None if may_sleep => std::thread::park_timeout(left.unwrap_or(Duration::MAX)),
        None => {}
    }
    for wait in waits.iter().filter(|wait| others.has(wait.lane.lane_number())) {
        wait.lane.lock()?.lane.waiters.remove(me);
    }
    own.map(|own| waits[own].lane.end_sleep(before.elapsed()));
    Ok(())
}

/// Announces the sleep of this thread as the progress owner of the first of these lanes without one. Returns
/// its index, if there is one, or `None` if a packet has come there.
fn become_owner(waits: &[LaneWait<'_>]) -> Result<Option<Option<usize>>, Error> {
    for (at, wait) in waits.iter().enumerate() {
        let mut core = wait.lane.lock()?;
        if !core.lane.waiters.has_progress_owner {
            core.publish_counters();
            return Ok(wait.lane.begin_sleep(&mut core).then_some(Some(at)));
        }
    }
    Ok(Some(None))
}

impl LaneWait<'_> {
    /// Returns true if one of the operations need not be waited for any more.
    fn has_ended(&self, core: &mut Core) -> bool {
        self.operations.iter().any(|one| one.has_ended(core) || one.is_in_doubt(core))
    }
}

impl Engine {
    /// Sleeps as the progress owner of this lane, whose sleep is announced, and for the lanes `others`. If it
    /// may not sleep, it takes the announcement back.
    fn sleep_as_owner(&self, others: LaneSet, left: Option<Duration>, may_sleep: bool) -> Result<(), Error> {
        if !may_sleep {
            self.stay_awake();
            return Ok(());
        }
        let longest = self.lock()?.longest_sleep();
        self.sleep_among_lanes(others, left.into_iter().chain(longest).min());
        Ok(())
    }
}
