//! Waiting: one thread makes progress, the others sleep until it has something for them (invariant I14).

use std::time::Instant;

use canele_proto::request::Cancel;
use canele_rail::{Armed, Rail};
use canele_sys::ids::RequestId;
use canele_sys::relax;

use crate::core::Core;
use crate::engine::{Engine, Inside};
use crate::patience::{Next, Patience};
use crate::{Error, Failure};

/// Why a wait ended without what it waited for.
pub(crate) enum Unmet {
    Deadline,
    Error(Error),
}

impl From<canele_sys::fork::Forked> for Unmet {
    fn from(_: canele_sys::fork::Forked) -> Self {
        Self::Error(Error::Forked)
    }
}

impl Engine {
    /// Makes progress until `ready` gives something, or the deadline has passed.
    pub(crate) fn wait_for<'a, T>(
        &'a self,
        mut core: Inside<'a>,
        deadline: Option<Instant>,
        mut ready: impl FnMut(&mut Core) -> Option<T>,
    ) -> Result<(Inside<'a>, T), (Inside<'a>, Unmet)> {
        let mut patience = core.habits.patience();
        loop {
            if let Some(value) = ready(&mut core) {
                core.pass_the_lead();
                return Ok((core, value));
            }
            core =
                if core.led { self.follow(core, deadline) } else { self.lead(core, deadline, &mut patience) };
            if deadline.is_some_and(|at| Instant::now() >= at) {
                core.pass_the_lead();
                return match ready(&mut core) {
                    Some(value) => Ok((core, value)),
                    None => Err((core, Unmet::Deadline)),
                };
            }
        }
    }

    /// One pass for all, and what follows an idle one. The lead is given back on return.
    fn lead<'a>(
        &'a self,
        mut core: Inside<'a>,
        deadline: Option<Instant>,
        patience: &mut Patience,
    ) -> Inside<'a> {
        let moved = core.pass();
        core.tell_followers();
        if moved {
            patience.renew();
        }
        if core.contended() {
            return self.paused(core);
        }
        if moved {
            return core;
        }
        match patience.next() {
            Next::Look => {
                relax::between_looks();
                core
            }
            Next::Yield => {
                core.led = true;
                let mut core = self.give_way(core, patience);
                core.led = false;
                core
            }
            Next::Sleep => self.sleep(core, deadline),
        }
    }

    /// Lets another process have the processor.
    pub(crate) fn give_way<'a>(&'a self, mut core: Inside<'a>, patience: &mut Patience) -> Inside<'a> {
        core.counts.yields += 1;
        core.counts.system_calls += 1;
        drop(core);
        let before = Instant::now();
        std::thread::yield_now();
        let took = before.elapsed();
        let mut core = self.enter().expect("a thread of this process has been inside before");
        core.habits.learn(patience, took);
        core
    }

    fn sleep<'a>(&'a self, mut core: Inside<'a>, deadline: Option<Instant>) -> Inside<'a> {
        core.publish_counters();
        if let Armed::Work = core.rails.arm() {
            return core;
        }
        core.counts.sleeps += 1;
        core.counts.system_calls += 2; // the barrier and the sleep
        (core.led, core.asleep) = (true, true);
        let longest = core
            .rails
            .longest_sleep()
            .into_iter()
            .chain(core.network.longest_sleep(core.rails.is_waiting()))
            .min();
        drop(core);
        let left = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        self.alarm.sleep(left.into_iter().chain(longest).min());
        let mut core = self.back();
        core.asleep = false;
        core
    }

    /// Comes back in and gives the lead up; whoever waits longest may take it.
    fn back(&self) -> Inside<'_> {
        let mut core = self.enter().expect("a thread of this process has been inside before");
        core.led = false;
        core
    }

    /// Lets another thread in, which follows if it has to wait, and comes back.
    fn paused<'a>(&'a self, mut core: Inside<'a>) -> Inside<'a> {
        core.led = true;
        let mut core = core.pause().expect("a thread of this process has been inside before");
        core.led = false;
        core
    }

    /// Another thread makes progress: sleeps until it has news.
    fn follow<'a>(&'a self, mut core: Inside<'a>, deadline: Option<Instant>) -> Inside<'a> {
        core.followers.push(std::thread::current());
        drop(core);
        match deadline {
            Some(at) => std::thread::park_timeout(at.saturating_duration_since(Instant::now())),
            None => std::thread::park(),
        }
        let mut core = self.enter().expect("a thread of this process has been inside before");
        let me = std::thread::current().id();
        core.followers.retain(|thread| thread.id() != me);
        core
    }

    /// Waits for a request and takes its outcome; withdraws it when the deadline passes.
    pub(crate) fn wait_done<'a>(
        &'a self,
        core: Inside<'a>,
        id: RequestId,
        deadline: Option<Instant>,
    ) -> (Inside<'a>, canele_proto::request::Outcome, bool) {
        let take = |core: &mut Core| core.proto.take(id);
        let core = if deadline.is_none() && core.proto.is_from_anybody(id) {
            match self.wait_for_anybody(core, take) {
                Ok((core, Some(outcome))) => return (core, outcome, false),
                Ok((mut core, None)) => {
                    core.proto.give_up(id);
                    core
                }
                Err((core, _)) => core,
            }
        } else {
            core
        };
        match self.wait_for(core, deadline, take) {
            Ok((core, outcome)) => (core, outcome, false),
            Err((mut core, _)) => {
                // Where it is too late to withdraw, data is moving and the end is near; who is asked answers with a pass.
                let withdrawn = core.proto.cancel(id) != Cancel::TooLate;
                match self.wait_for(core, None, take) {
                    Ok((core, outcome)) => {
                        let passed = withdrawn && matches!(outcome.result, Err(Failure::Cancelled));
                        (core, outcome, passed)
                    }
                    Err(_) => unreachable!("a wait without a deadline ends with its request"),
                }
            }
        }
    }
}

impl Core {
    /// A wait ends: one of those who follow must make progress from now on.
    fn pass_the_lead(&mut self) {
        if !self.led
            && let Some(next) = self.followers.pop()
        {
            next.unpark();
        }
    }

    /// Wakes those who follow, if any operation has ended since they were last told.
    fn tell_followers(&mut self) {
        let ended = self.proto.ended();
        if self.told != ended {
            self.told = ended;
            for thread in self.followers.drain(..) {
                thread.unpark();
            }
        }
    }
}
