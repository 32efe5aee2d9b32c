//! Calls of collectives: each takes a flow's state, draws its next number, and begins a schedule.
//!
//! Owns the turns of threads on a flow. Never carries a schedule out: see `drive`.

use std::sync::Arc;

use canele_collective::{
    Buffers, CollectiveCosts, CollectiveSpec, HostLevels, Hosts, MemberLiveness, Memory, Plan, Reduction,
    Schedule, ScheduleRun, Seat, Slices, Team, User,
};
use canele_sys::ids::{FlowId, Tag};

use super::drive::CallResult;
use super::{Collectives, State};
use crate::Error;
use crate::core::Core;
use crate::engine::{Engine, Locked};
use crate::lane::awaited::Awaited;

/// The way in which a collective is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallMode {
    /// The calling thread waits until the end.
    Blocking,
    /// The calling thread goes on.
    NonBlocking,
}

impl Engine {
    /// Carries out `spec` with all other members of the flow. The caller has checked lengths. No other
    /// messages of `flow` have tags below 2³¹.
    ///
    /// # Errors
    /// A member died, or finished without making this call; the members do not make the same call; the job is
    /// over.
    #[inline(always)]
    pub fn collective<'f>(
        &self,
        flow: FlowId,
        spec: impl Into<CollectiveSpec<'f>>,
        reduction: Option<&Reduction>,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), Error> {
        self.collective_in_slices(flow, &spec.into(), reduction, input, output)
    }

    #[inline(never)]
    fn collective_in_slices(
        &self,
        flow: FlowId,
        spec: &CollectiveSpec<'_>,
        reduction: Option<&Reduction>,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), Error> {
        self.collective_of(flow, spec, reduction, Slices { input, output })
    }

    /// Carries out `spec` with all other members of the flow, in memory known by its address.
    ///
    /// # Errors
    /// Those of [`Engine::collective`].
    #[inline(always)]
    pub fn collective_at<'f>(
        &self,
        flow: FlowId,
        spec: impl Into<CollectiveSpec<'f>>,
        reduction: Option<&Reduction>,
        buffers: &mut Buffers,
    ) -> Result<(), Error> {
        self.collective_in_buffers(flow, &spec.into(), reduction, buffers)
    }

    #[inline(never)]
    fn collective_in_buffers(
        &self,
        flow: FlowId,
        spec: &CollectiveSpec<'_>,
        reduction: Option<&Reduction>,
        buffers: &mut Buffers,
    ) -> Result<(), Error> {
        self.collective_of(flow, spec, reduction, buffers)
    }

    /// Carries out `spec` among any team, with messages on any flow that all have the tag `tag`.
    ///
    /// # Errors
    /// Those of [`Engine::collective`].
    pub fn collective_among<'f>(
        &self,
        team: &Team,
        (flow, tag): (FlowId, Tag),
        spec: impl Into<CollectiveSpec<'f>>,
        reduction: Option<&Reduction>,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), Error> {
        team.members().iter().try_for_each(|rank| self.check_rank(*rank))?;
        let is_of_one_job = self.are_of_this_job(team.members())?;
        let core = self.lock()?;
        core.check()?;
        let mut state = State { is_of_one_job, ..State::new(flow, Some(team.clone()), tag) };
        let user = Slices { input, output };
        self.call(core, flow, &mut state, &spec.into(), reduction, user).1
    }

    /// Makes a collective ready to be started many times on `flow`. All members make their plans in the same
    /// order, relative to their other starts.
    ///
    /// # Errors
    /// A root or neighbour does not exist; lists of the wrong length.
    pub fn plan<'f>(&self, flow: FlowId, spec: impl Into<CollectiveSpec<'f>>) -> Result<Plan, Error> {
        let (mut core, mut state) = self.begin(flow)?;
        let spec = spec.into();
        let schedule = self.schedule(&core, &mut state, &spec, CallMode::NonBlocking);
        let tag = if schedule.is_ok() { state.started.draw() } else { Tag(0) };
        self.give_back(&mut core, flow, state);
        Ok(Plan { schedule: schedule?, tag, operation: spec.operation(), bytes: spec.bytes() })
    }

    #[inline(always)]
    fn collective_of<U: User>(
        &self,
        flow: FlowId,
        spec: &CollectiveSpec<'_>,
        reduction: Option<&Reduction>,
        user: U,
    ) -> Result<(), Error> {
        // The steps of `begin`, spelled out: every move of the guard costs.
        let mut core = self.lock()?;
        core.check()?;
        let mut state;
        (core, state) = match core.collectives.take(flow) {
            Some(state) => (core, state),
            None => self.wait_for_turn(core, flow),
        };
        let (mut core, result) = self.call(core, flow, &mut state, spec, reduction, user);
        self.give_back(&mut core, flow, state);
        result
    }

    /// Takes the lock and the state of a flow's collectives.
    pub(crate) fn begin(&self, flow: FlowId) -> Result<(Locked<'_>, Box<State>), Error> {
        let mut core = self.lock()?;
        core.check()?;
        match core.collectives.take(flow) {
            Some(state) => Ok((core, state)),
            None => Ok(self.wait_for_turn(core, flow)),
        }
    }

    /// Returns this rank's part of a collective, to be kept.
    pub(super) fn schedule(
        &self,
        core: &Core,
        state: &mut State,
        spec: &CollectiveSpec<'_>,
        mode: CallMode,
    ) -> Result<Arc<Schedule>, Error> {
        let State { cache, started_cache, liveness, is_of_one_job, .. } = state;
        let make = || {
            let (seat, hosts) = self.seat(core, liveness, *is_of_one_job, mode);
            Schedule::make(seat, (liveness.team.as_ref(), hosts.as_ref()), spec)
        };
        match spec {
            CollectiveSpec::Even(shape) if mode == CallMode::Blocking => Ok(cache.find(shape, make)?.clone()),
            CollectiveSpec::Even(shape) => Ok(started_cache.find(shape, make)?.clone()),
            _ => Ok(Arc::new(make()?)),
        }
    }

    /// Returns the seat of this rank in the collectives of a flow, and the hosts of the members if there are
    /// several.
    #[cold]
    fn seat(
        &self,
        core: &Core,
        liveness: &MemberLiveness,
        is_of_one_job: bool,
        mode: CallMode,
    ) -> (Seat, Option<Hosts>) {
        let on_one_host = is_of_one_job && core.are_on_one_host(liveness.team.as_ref());
        // Ranks of other jobs do not know which ranks of this job share processors, nor its profile.
        let (oversubscribed, costs, forced) = match core.collectives {
            Collectives { oversubscribed, costs, inside, forced, .. } if is_of_one_job => {
                (oversubscribed, if on_one_host { inside } else { costs }, forced)
            }
            _ => (false, CollectiveCosts::default(), None),
        };
        let ranks = self.size() as usize;
        let shared_buffers = on_one_host && mode == CallMode::Blocking;
        let me = self.rank().0 as usize;
        let hosts = core.hosts_of_members(liveness.team.as_ref()).filter(|_| is_of_one_job);
        let levels = hosts.as_ref().map(|hosts| HostLevels::new(hosts, core.collectives.inside));
        let all = Seat { me, ranks, local: ranks, oversubscribed, shared_buffers, costs, levels, forced };
        (liveness.team.as_ref().map_or(all, |team| team.seat(all)), hosts)
    }

    /// Makes the call with the flow's state.
    #[inline(always)]
    fn call<'a, U: User>(
        &'a self,
        core: Locked<'a>,
        flow: FlowId,
        state: &mut State,
        spec: &CollectiveSpec<'_>,
        reduction: Option<&Reduction>,
        user: U,
    ) -> CallResult<'a> {
        let is_traced = core.begin_collective(flow, spec);
        let (core, result) = self.carry_out(core, flow, state, spec, reduction, user);
        if is_traced {
            core.end_collective();
        }
        (core, result)
    }

    #[inline(always)]
    fn carry_out<'a, U: User>(
        &'a self,
        mut core: Locked<'a>,
        flow: FlowId,
        state: &mut State,
        spec: &CollectiveSpec<'_>,
        reduction: Option<&Reduction>,
        user: U,
    ) -> CallResult<'a> {
        let State { calls, cache, scratch, missing, liveness, is_of_one_job, .. } = state;
        let make = || {
            let (seat, hosts) = self.seat(&core, liveness, *is_of_one_job, CallMode::Blocking);
            Schedule::make(seat, (liveness.team.as_ref(), hosts.as_ref()), spec)
        };
        let own;
        let found = match spec {
            CollectiveSpec::Even(shape) => cache.find(shape, make).map(AsRef::as_ref),
            _ => match make() {
                Ok(made) => {
                    own = made;
                    Ok(&own)
                }
                Err(error) => Err(error),
            },
        };
        let schedule = match found {
            Ok(schedule) => schedule,
            Err(error) => return (core, Err(error.into())),
        };
        scratch.reserve(schedule.scratch_bytes);
        let name = (flow, calls.draw());
        if let Err(error) = core.check_alive(liveness) {
            return (core, Err(error.into()));
        }
        let Some(needed) = schedule.shared_buffer else {
            let mut run = ScheduleRun::new(name, reduction, schedule, missing);
            let mut memory = Memory { user, scratch, shared_buffer: None };
            return self.drive(core, &mut run, &mut memory, liveness, spec);
        };
        let shared_buffer;
        (core, shared_buffer) = match self.take_shared_buffer(core, needed.bytes) {
            (core, Ok(shared_buffer)) => (core, shared_buffer),
            (core, Err(error)) => return (core, Err(error)),
        };
        shared_buffer.write_name(needed, schedule, scratch);
        let mut run = ScheduleRun::new(name, reduction, schedule, missing);
        let mut memory = Memory { user, scratch, shared_buffer: shared_buffer.window() };
        let (mut core, result) = self.drive(core, &mut run, &mut memory, liveness, spec);
        core.give_back_shared_buffer(shared_buffer, result.is_ok().then_some(needed.readers));
        (core, result)
    }

    /// Waits until another thread has ended its collective of this flow.
    #[cold]
    fn wait_for_turn<'a>(&'a self, mut core: Locked<'a>, flow: FlowId) -> (Locked<'a>, Box<State>) {
        core.collectives.waiting += 1;
        self.wake_progress_owner(&core);
        let (mut core, state) =
            self.wait_for(core, Awaited::Other("a collective of another thread", None), |core: &mut Core| {
                core.collectives.take(flow)
            });
        core.collectives.waiting -= 1;
        (core, state)
    }

    #[inline(always)]
    pub(crate) fn give_back(&self, core: &mut Locked<'_>, flow: FlowId, state: Box<State>) {
        core.collectives.put(flow, state);
        self.wake_those_that_wait_for_turn(core);
    }

    /// Ends the use of a flow whose state was taken: the next call begins with a new one.
    pub(super) fn forget(&self, core: &mut Locked<'_>, flow: FlowId) {
        core.collectives.forget(flow);
        self.wake_those_that_wait_for_turn(core);
    }

    #[inline(always)]
    fn wake_those_that_wait_for_turn(&self, core: &mut Locked<'_>) {
        if core.collectives.waiting > 0 {
            self.wake_progress_owner(core);
            core.lane.waiters.wake_all();
        }
    }
}
