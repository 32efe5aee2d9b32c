//! A blocking collective: drives a run to its end and waits where the run cannot go on.

use canele_collective::{
    CollectiveSpec, Disagreement, DisagreementNotices, MemberLiveness, Memory, ScheduleRun, Stop, Transfers,
    User,
};
use canele_sys::relax;

use crate::core::Core;
use crate::engine::{Engine, Locked};
use crate::lane::awaited::{Awaited, CollectiveCall};
use crate::lane::spin::{LOOKS_BEFORE_ASKING, LOOKS_PER_PASS};
use crate::lane::wait_policy::Next;
use crate::{Error, Failure};

/// Looks between two passes over everything where ranks share processors and give theirs away between two looks.
const YIELDS_PER_PASS: u32 = 8;
/// Passes after which a call that has not slept waits with requests.
const LONG_WAIT: u32 = 1 << 12;

/// What a call came to, still inside.
pub(super) type CallResult<'a, T = ()> = (Locked<'a>, Result<T, Error>);

impl Engine {
    /// Until the run is done or fails.
    #[inline(always)]
    pub(super) fn drive<'a, U: User>(
        &'a self,
        mut core: Locked<'a>,
        run: &mut ScheduleRun<'_>,
        memory: &mut Memory<'_, U>,
        liveness: &mut MemberLiveness,
        spec: &CollectiveSpec<'_>,
    ) -> CallResult<'a> {
        let mut backoff = core.lane.wait_policy.backoff();
        let looks = if core.lane.wait_policy.oversubscribed { YIELDS_PER_PASS } else { LOOKS_PER_PASS };
        let (mut idle, mut idle_passes) = (0, 0);
        loop {
            let lane = &mut core.lane;
            let stop = match run.advance(&mut lane.proto, &mut lane.rails, memory) {
                Ok(stop) => stop,
                Err(error) => {
                    let why = core.why_failed(liveness, run, error);
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
                // One that never sleeps waits elsewhere, too, where it tells what for.
                long |= idle_passes == LONG_WAIT;
                core.pass();
                core.watch_launcher();
                match core.check_alive(liveness) {
                    Err(error) if core.lane.is_closed => return (core, Err(error.into())),
                    // The last messages may have come with this pass: the transfers take them before they give up.
                    checked => long |= checked.is_err(),
                }
                if let Some(found) = core.take_notice(liveness, run) {
                    let why = core.why_failed(liveness, run, found.into());
                    return (core, Err(why));
                }
                if core.contended() {
                    core = core.pause().expect("a thread of this process has held the lock before");
                }
                long |= run.waits_for_gone(&core.lane.proto);
            }
            if long {
                let result;
                (core, result) = self.finish_transfers(core, run, memory, liveness, spec);
                if result.is_err() {
                    return (core, result);
                }
                run.all_transferred();
                backoff.renew();
            }
        }
    }

    /// Does all transfers that are left of the round, with the user's memory lent to the protocols.
    #[cold]
    #[inline(never)]
    fn finish_transfers<'a, U: User>(
        &'a self,
        mut core: Locked<'a>,
        run: &ScheduleRun<'_>,
        memory: &mut Memory<'_, U>,
        liveness: &mut MemberLiveness,
        spec: &CollectiveSpec<'_>,
    ) -> CallResult<'a> {
        self.wake_progress_owner(&core);
        let (sends, receives) = run.left();
        memory.lending(sends, &receives, |out, into, back| {
            let mut transfers = Transfers::default();
            let lane = &mut core.lane;
            let on = (&mut lane.proto, &mut lane.rails);
            transfers.submit(run, on, (sends, &receives), (out, into));
            let mut is_over = false;
            let ended = |core: &mut Core| {
                // A collective whose messages have all come succeeds even if a member has died since.
                let mut is_done = transfers.take(&mut core.lane.proto, back);
                if !is_done
                    && !is_over
                    && let Some(error) = core.why_stopped(liveness, run)
                {
                    is_over = true;
                    transfers.abandon(&mut core.lane.proto, error);
                    is_done = transfers.take(&mut core.lane.proto, back);
                }
                is_done.then_some(())
            };
            let ((flow, tag), operation) = (run.name(), spec.operation());
            let call = CollectiveCall { operation, flow, tag, sends, receives: &receives };
            let (mut core, ()) = self.wait_for(core, Awaited::Collective(call), ended);
            let result = transfers.result().map_err(|error| core.why_failed(liveness, run, error));
            (core, result)
        })
    }
}

impl Core {
    /// Why a collective cannot go on that waits: a death, a revocation, or a notice of members that disagree.
    fn why_stopped(
        &mut self,
        liveness: &mut MemberLiveness,
        run: &ScheduleRun<'_>,
    ) -> Option<canele_collective::Error> {
        if let Err(failure) = self.check_alive(liveness) {
            return Some(failure.into());
        }
        self.take_notice(liveness, run).map(Into::into)
    }

    /// Takes a notice that the members disagree. One of them has told all; a member that takes its shared buffer away tells all first.
    fn take_notice(&mut self, liveness: &MemberLiveness, run: &ScheduleRun<'_>) -> Option<Disagreement> {
        let (name, proto) = (run.name(), &mut self.lane.proto);
        if !proto.has_unexpected(name.0) {
            return None;
        }
        let found = DisagreementNotices::take(proto, name)?;
        match run.has_shared_buffer() {
            true => self.tell_members(liveness, run, found),
            false => self.collectives.notices.note_told(name),
        }
        Some(found)
    }

    #[cold]
    fn tell_members(&mut self, liveness: &MemberLiveness, run: &ScheduleRun<'_>, found: Disagreement) {
        let Self { lane, collectives, .. } = self;
        let on = (&mut lane.proto, &mut lane.rails);
        collectives.notices.tell(on, run.name(), liveness.team.as_ref(), found);
    }

    /// Why a collective has failed: a death or a revocation is why other members have failed or left. The other members are told of a
    /// disagreement.
    #[cold]
    fn why_failed(
        &mut self,
        liveness: &mut MemberLiveness,
        run: &ScheduleRun<'_>,
        error: canele_collective::Error,
    ) -> Error {
        if let Err(failure) = self.check_alive(liveness) {
            return failure.into();
        }
        if let canele_collective::Error::Disagreement(found) = error {
            self.tell_members(liveness, run, found);
            return error.into();
        }
        // A member that was told before gave its shared buffer back, and told this rank before that.
        self.pass();
        self.why_stopped(liveness, run).unwrap_or(error).into()
    }

    /// Whether all members live or have finished in good order, none has cut off another, and this rank has not finished the job.
    #[inline]
    pub(super) fn check_alive(&self, liveness: &mut MemberLiveness) -> Result<(), Failure> {
        if self.lane.is_closed {
            return Err(Failure::Finished);
        }
        liveness.check(&self.lane.proto, &self.membership.splits)
    }
}
