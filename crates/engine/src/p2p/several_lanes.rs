//! Waiting for operations of several lanes of this rank, each of which has a lock of its own.
//!
//! Such a wait looks at one lane after the other. Its sleep is that of the progress owner of one of them, and ends with what comes on the others, too:
//! it sleeps for those without a thread as well, and threads that make progress on others wake it.

use std::time::{Duration, Instant};

use canele_sys::{fork, relax};

use super::pending::{Completion, Pending};
use crate::Error;
use crate::core::Core;
use crate::engine::Engine;
use crate::lane::awaited::{Awaited, Waiting};
use crate::lane::wait_policy::Next;
use crate::lanes::LaneSet;

/// What a wait has to do with one lane.
struct LaneWait<'a> {
    lane: &'a Engine,
    operations: &'a [Pending],
    waiting: Waiting<'a>,
}

impl Engine {
    /// The lane of all of these operations, if it is one.
    #[inline(always)]
    pub(super) fn only_lane_of(&self, list: &[Pending]) -> Option<&Engine> {
        if self.has_one_lane() {
            return Some(self);
        }
        let Some(first) = list.first() else { return Some(self) };
        list.iter().all(|one| one.lane == first.lane).then(|| self.lane_of(*first))
    }

    /// As [`Engine::wait_any`].
    pub(super) fn wait_any_of_lanes(
        &self,
        list: &[Pending],
        deadline: Option<Instant>,
    ) -> Result<(usize, Completion), Error> {
        let ready = |core: &mut Core, at: usize| {
            list[at].request().map(|id| core.lane.proto.fail_pending(id));
            Some((at, list[at].take(core)?))
        };
        let found = self.wait_on_lanes(list, deadline, ready, || None)?;
        found.ok_or_else(|| Error::Deadline(format!("{} operations", list.len())))
    }

    /// As [`Engine::await_any`].
    pub(super) fn await_any_of_lanes(
        &self,
        list: &[Pending],
        by_program: Option<&dyn Fn() -> bool>,
    ) -> Result<(), Error> {
        let ready = |core: &mut Core, at: usize| {
            (list[at].has_ended(core) || list[at].is_in_doubt(core)).then_some(())
        };
        let by_program = || by_program.is_some_and(|is_done| is_done()).then_some(());
        self.wait_on_lanes(list, None, ready, by_program).map(drop)
    }

    /// Makes progress on the lanes of these operations until `ready` gives something for one of them, by its number, or `otherwise` does.
    fn wait_on_lanes<T>(
        &self,
        list: &[Pending],
        deadline: Option<Instant>,
        ready: impl FnMut(&mut Core, usize) -> Option<T>,
        otherwise: impl Fn() -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let lanes = list.iter().fold(LaneSet::default(), |set, one| set.with(one.lane));
        let of_lane = |number| list.iter().filter(|one| one.lane == number).copied().collect();
        let operations: Vec<(u8, Vec<Pending>)> =
            lanes.iter().map(|number| (number, of_lane(number))).collect();
        let mut waits: Vec<LaneWait<'_>> = Vec::new();
        for (number, operations) in &operations {
            let waiting = Waiting::new(Awaited::AnyOf(operations));
            waits.push(LaneWait { lane: self.numbered_lane(*number), operations, waiting });
        }
        // For a trace it is one wait.
        let mut whole = Waiting::new(Awaited::AnyOf(list));
        if self.tracer.is_some() {
            whole.trace(&*self.lock()?);
        }
        let found = self.wait_on_all(list, &mut waits, deadline, ready, otherwise);
        if self.tracer.is_some() {
            whole.end(&mut *self.lock()?);
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
        deadline: Option<Instant>,
        mut ready: impl FnMut(&mut Core, usize) -> Option<T>,
        otherwise: impl Fn() -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let mut backoff = self.lock()?.lane.wait_policy.backoff();
        loop {
            let mut moved = false;
            for LaneWait { lane, .. } in &*waits {
                let (mut core, has_moved) = lane.poll_once(lane.lock()?);
                core.lane.wake_waiters();
                moved |= has_moved;
                let mut own = (0..list.len()).filter(|at| list[*at].lane == lane.lane_number());
                if let Some(found) = own.find_map(|at| ready(&mut core, at)) {
                    return Ok(Some(found));
                }
            }
            if let Some(found) = otherwise() {
                return Ok(Some(found));
            }
            let now = Instant::now();
            if deadline.is_some_and(|at| now >= at) {
                return Ok(None);
            }
            if moved {
                backoff.renew();
                continue;
            }
            match backoff.next() {
                Next::Look => relax::between_looks(),
                Next::Yield => std::thread::yield_now(),
                Next::Sleep => {
                    let left = deadline.map(|at| at.saturating_duration_since(now));
                    sleep_on(waits, left, || otherwise().is_some())?;
                }
            }
        }
    }
}

/// Sleeps until something may have come on one of these lanes; not if `is_over` says that the program has ended the wait.
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
    // Asked behind all that: what the program does from now on wakes this thread.
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

/// Announces the sleep of this thread as the progress owner of the first of these lanes that has none; says which one, if one has none. Nothing is
/// returned if something has come there.
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
    /// True if one of the operations need not be waited for any more.
    fn has_ended(&self, core: &mut Core) -> bool {
        self.operations.iter().any(|one| one.has_ended(core) || one.is_in_doubt(core))
    }
}

impl Engine {
    /// Sleeps as the progress owner of this lane, whose sleep is announced, for other lanes, too; or takes the announcement back.
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
