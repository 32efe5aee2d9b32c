//! A blocking collective: drives a run to its end, and waits if the run cannot advance.

use canele_collective::{Back, CollectiveSpec, MemberLiveness, Memory, ScheduleRun, Stop, Transfers, User};
use canele_sys::relax;

use crate::core::Core;
use crate::engine::{Engine, Locked};
use crate::lane::awaited::{Awaited, CollectiveCall};
use crate::lane::spin::{LOOKS_BEFORE_ASKING, LOOKS_PER_PASS};
use crate::lane::wait_policy::Next;
use crate::{Error, Failure};

/// Looks between two passes, if ranks share processors and give theirs away between two looks.
const YIELDS_PER_PASS: u32 = 8;
/// Passes after which a call that has not slept waits with requests.
const LONG_WAIT: u32 = 1 << 12;

/// The result of a call, with the lock still held.
pub(super) type CallResult<'a, T = ()> = (Locked<'a>, Result<T, Error>);

impl Engine {
    /// Drives the run until it is done or fails.
    #[inline(always)]
    pub(super) fn drive<'a, U: User>(
        &'a self,
        core: Locked<'a>,
        run: &mut ScheduleRun<'_>,
        memory: &mut Memory<'_, U>,
        liveness: &mut MemberLiveness,
        spec: &CollectiveSpec<'_>,
    ) -> CallResult<'a> {
        let mut behind = Transfers::default();
        let (core, result) = self.drive_schedule(core, run, memory, (liveness, spec), &mut behind);
        if !behind.are_under_way() {
            return (core, result);
        }
        self.finish_behind(core, run, behind, (liveness, spec), result)
    }

    /// Drives the run to the end of its schedule. Sends that the schedule goes on without stay `behind`.
    #[inline(always)]
    fn drive_schedule<'a, U: User>(
        &'a self,
        mut core: Locked<'a>,
        run: &mut ScheduleRun<'_>,
        memory: &mut Memory<'_, U>,
        (liveness, spec): (&mut MemberLiveness, &CollectiveSpec<'_>),
        behind: &mut Transfers,
    ) -> CallResult<'a> {
        let mut backoff = core.lane.wait_policy.backoff().by_time();
        let looks = if core.lane.wait_policy.is_oversubscribed() { YIELDS_PER_PASS } else { LOOKS_PER_PASS };
        let (mut idle, mut idle_passes) = (0, 0);
        loop {
            let lane = &mut core.lane;
            let stop = match run.advance(&mut lane.proto, &mut lane.rails, memory) {
                Ok(stop) => stop,
                Err(error) => {
                    let why = core.why_failed(liveness, error);
                    return (core, Err(why));
                }
            };
            let mut long = stop == Stop::Long;
            match stop {
                Stop::Done => return (core, Ok(())),
                Stop::Missing { moved: true } => backoff.renew(),
                Stop::Missing { moved: false } => {
                    idle += 1;
                    let wanted =
                        idle % LOOKS_PER_PASS == LOOKS_BEFORE_ASKING && core.lane.is_processor_wanted(None);
                    let next = if wanted { Next::Sleep } else { backoff.next() };
                    match next {
                        Next::Yield => core = self.give_way(core, &mut backoff),
                        Next::Look => relax::between_looks(),
                        Next::Sleep => {}
                    }
                    long = next == Next::Sleep;
                }
                Stop::Behind => idle = looks,
                Stop::Long => {}
            }
            if idle >= looks {
                idle = 0;
                idle_passes += 1;
                // A call that never sleeps also goes on to a wait with requests, which publishes that the
                // thread waits.
                long |= idle_passes == LONG_WAIT;
                core.pass();
                core.watch_launcher();
                match core.check_alive(liveness) {
                    Err(error) if core.lane.is_closed => return (core, Err(error.into())),
                    // The last messages may have come with this pass: the transfers take them before they
                    // give up.
                    checked => long |= checked.is_err(),
                }
                if core.contended() {
                    core = core.pause().expect("a thread of this process has held the lock before");
                }
                long |= run.waits_for_gone(&core.lane.proto);
            }
            if long {
                let result;
                (core, result) = self.finish_transfers(core, run, memory, (liveness, spec), behind);
                if result.is_err() {
                    return (core, result);
                }
                run.all_transferred();
                backoff.renew();
            }
        }
    }

    /// Ends all transfers that are left of the round, with the user's memory lent to the protocols.
    #[cold]
    #[inline(never)]
    fn finish_transfers<'a, U: User>(
        &'a self,
        mut core: Locked<'a>,
        run: &ScheduleRun<'_>,
        memory: &mut Memory<'_, U>,
        (liveness, spec): (&mut MemberLiveness, &CollectiveSpec<'_>),
        behind: &mut Transfers,
    ) -> CallResult<'a> {
        self.wake_progress_owner(&core);
        let (sends, receives) = run.left();
        memory.lending(sends, &receives, |out, into, back| {
            let mut transfers = Transfers::default();
            let lane = &mut core.lane;
            let on = (&mut lane.proto, &mut lane.rails);
            transfers.submit(run, on, (sends, &receives), (out, into), (behind, back));
            let ((flow, tag), operation) = (run.name(), spec.operation());
            let call = CollectiveCall { operation, flow, tag, sends, receives: &receives };
            self.wait_for_transfers(core, &mut transfers, back, call, liveness)
        })
    }

    /// Ends the sends that the schedule went on without; gives them up if it has failed.
    #[cold]
    #[inline(never)]
    fn finish_behind<'a>(
        &'a self,
        mut core: Locked<'a>,
        run: &ScheduleRun<'_>,
        mut behind: Transfers,
        (liveness, spec): (&mut MemberLiveness, &CollectiveSpec<'_>),
        result: Result<(), Error>,
    ) -> CallResult<'a> {
        if result.is_err() {
            behind.abandon(&mut core.lane.proto, Failure::Cancelled.into());
        }
        let ((flow, tag), operation) = (run.name(), spec.operation());
        let call = CollectiveCall { operation, flow, tag, sends: &[], receives: &[] };
        let (core, ended) = self.wait_for_transfers(core, &mut behind, &mut |_, _| {}, call, liveness);
        (core, result.and(ended))
    }

    /// Waits until all transfers have ended, or the collective cannot go on.
    fn wait_for_transfers<'a>(
        &'a self,
        core: Locked<'a>,
        transfers: &mut Transfers,
        back: Back<'_>,
        call: CollectiveCall<'_>,
        liveness: &mut MemberLiveness,
    ) -> CallResult<'a> {
        let mut is_over = false;
        let ended = |core: &mut Core| {
            // A collective whose messages have all come succeeds even if a member has died since.
            let mut is_done = transfers.take(&mut core.lane.proto, back);
            if !is_done
                && !is_over
                && let Err(error) = core.check_alive(liveness)
            {
                is_over = true;
                transfers.abandon(&mut core.lane.proto, error.into());
                is_done = transfers.take(&mut core.lane.proto, back);
            }
            is_done.then_some(())
        };
        let (core, ()) = self.wait_for(core, Awaited::Collective(call), ended);
        let result = transfers.result().map_err(|error| core.why_failed(liveness, error));
        (core, result)
    }
}

impl Core {
    /// Returns the cause of a failure: a death or a revocation, if other members failed or left because of
    /// it.
    #[cold]
    fn why_failed(&self, liveness: &mut MemberLiveness, error: canele_collective::Error) -> Error {
        self.check_alive(liveness).err().map_or_else(|| error.into(), Error::from)
    }

    /// Fails if a member has died or cut off another, the group is revoked, or this rank has finished the
    /// job.
    #[inline]
    pub(super) fn check_alive(&self, liveness: &mut MemberLiveness) -> Result<(), Failure> {
        if self.lane.is_closed {
            return Err(Failure::Finished);
        }
        liveness.check(&self.lane.proto, &self.membership.splits)
    }
}
