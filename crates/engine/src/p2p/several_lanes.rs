//! Waiting for operations of several lanes of this rank, each of which has a lock of its own.
//!
//! Such a wait looks at one lane after the other. When it is time to sleep it sleeps on one of them for a millisecond at most, so what comes on the others waits as long.

use std::time::Instant;

use canele_sys::relax;

use super::pending::{Completion, Pending};
use crate::Error;
use crate::core::Core;
use crate::engine::Engine;
use crate::lane::awaited::Awaited;
use crate::lane::wait_policy::Next;
use crate::lanes::{LONGEST_SLEEP, LaneSet};

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
        mut ready: impl FnMut(&mut Core, usize) -> Option<T>,
        otherwise: impl Fn() -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let lanes = list.iter().fold(LaneSet::default(), |set, one| set.with(one.lane));
        let mut sleeping = lanes.iter().cycle();
        let mut backoff = self.lock()?.lane.wait_policy.backoff();
        loop {
            let mut moved = false;
            for number in lanes.iter() {
                let lane = self.numbered_lane(number);
                let (mut core, has_moved) = lane.poll_once(lane.lock()?);
                core.lane.wake_waiters();
                moved |= has_moved;
                let mut own = (0..list.len()).filter(|at| list[*at].lane == number);
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
                    let lane = self.numbered_lane(sleeping.next().expect("there is an operation"));
                    let own: Vec<Pending> =
                        list.iter().filter(|one| one.lane == lane.lane_number()).copied().collect();
                    let until = deadline.into_iter().chain([now + LONGEST_SLEEP]).min();
                    let ended = |core: &mut Core| own.iter().any(|one| one.has_ended(core)).then_some(());
                    drop(lane.wait_before(lane.lock()?, until, Awaited::AnyOf(&own), ended));
                }
            }
        }
    }
}
