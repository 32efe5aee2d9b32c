//! Waiting for a message of any rank, which also ends when no rank or thread is left that could send one.
//!
//! Owns the decision that none is left. A message can come from another rank that has not finished, or from
//! another thread of this process. All messages of a rank are received before it counts as gone (invariant
//! I15). With neither, a thread that waits without a deadline would wait for ever. An operation that is only
//! tested, or has a deadline, is left alone: its thread may still send the message itself.

use std::time::{Duration, Instant};

use super::view::EngineView;
use crate::core::Core;
use crate::engine::{Engine, Locked};
use crate::lane::awaited::Awaited;
use crate::{Error, Failure};

/// The interval at which threads are counted again while only they could send a message.
pub(super) const RECOUNT_INTERVAL: Duration = Duration::from_millis(100);

impl Engine {
    /// Waits as `wait_for` without a deadline; returns no value if no sender is left.
    pub(crate) fn wait_for_any_sender<'a, T>(
        &'a self,
        core: Locked<'a>,
        awaited: Awaited<'_>,
        mut ready: impl FnMut(&mut Core) -> Option<T>,
    ) -> (Locked<'a>, Option<T>) {
        let others = |core: &mut Core| match ready(core) {
            None if core.lane.proto.is_alone() => {
                // Requests of ranks before they finished may bring the message.
                let Core { lane, rma, .. } = core;
                rma.serve_all(lane);
                Some(ready(core))
            }
            None => None,
            some => Some(some),
        };
        let (mut core, found) = self.wait_for(core, awaited, others);
        if found.is_some() {
            return (core, found);
        }
        // No other thread can take the lock between `ready` and the count.
        while !self.is_only_thread() {
            let found;
            (core, found) =
                self.wait_before(core, Some(Instant::now() + RECOUNT_INTERVAL), awaited, &mut ready);
            if found.is_some() {
                return (core, found);
            }
        }
        (core, None)
    }

    /// Waits as [`Engine::wait_until`]. Without a deadline it fails if no rank or thread is left that could
    /// send anything.
    ///
    /// # Errors
    /// Those of [`Engine::wait_until`], and [`Failure::NoSenderLeft`].
    pub fn wait_until_any_sender<T>(
        &self,
        deadline: Option<Instant>,
        what: impl Fn() -> String,
        mut ready: impl FnMut(&mut EngineView) -> Option<Result<T, Error>>,
    ) -> Result<T, Error> {
        if deadline.is_some() {
            return self.wait_until(deadline, what, ready);
        }
        let core = self.lock_to_submit()?;
        let ready = |core: &mut Core| match core.check() {
            Ok(()) => ready(&mut EngineView { proto: &mut core.lane.proto }),
            Err(error) => Some(Err(error)),
        };
        let (_core, found) = self.wait_for_any_sender(core, Awaited::Words(&what), ready);
        found.unwrap_or_else(|| Err(Failure::NoSenderLeft.into()))
    }

    /// Returns true if no rank or thread is left that could send anything, and all packets have been taken
    /// in. A caller that waits with several deadlines in turn needs it.
    ///
    /// # Errors
    /// `Forked`.
    pub fn is_no_sender_left(&self) -> Result<bool, Error> {
        for lane in self.all_lanes().iter().map(|lane| self.numbered_lane(lane)) {
            let mut core = lane.lock()?;
            if !core.lane.proto.is_alone() {
                return Ok(false);
            }
            let Core { lane, rma, .. } = &mut *core;
            rma.serve_all(lane);
            if core.pass() {
                return Ok(false);
            }
        }
        Ok(self.is_only_thread())
    }

    /// Returns true if no other thread of the program lives. Those of the library submit nothing.
    pub(super) fn is_only_thread(&self) -> bool {
        let threads = std::fs::read_dir("/proc/self/task").map(Iterator::count);
        threads.is_ok_and(|threads| threads == 1 + self.own_threads())
    }
}
