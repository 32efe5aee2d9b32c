//! A blocking collective: drives a run to its end and waits where the run cannot go on.

use std::sync::Arc;

use canele_sys::ids::{FlowId, Tag};
use canele_sys::relax;

use super::choose::Seat;
use super::form::{Form, Plan};
use super::lasting::Buffers;
use super::memory::{Memory, Slices, User};
use super::reduce::Reduction;
use super::run::{Run, Stop};
use super::schedule::Schedule;
use super::team::{Team, Watch};
use super::transfers::Transfers;
use super::{State, find, made};
use crate::Error;
use crate::core::Core;
use crate::engine::{Engine, Inside};
use crate::patience::Next;
use crate::wait::Unmet;

/// Looks for missing messages between two passes over everything.
const LOOKS_PER_PASS: u32 = 64;
/// The same where ranks share processors and give theirs away between two looks.
const YIELDS_PER_PASS: u32 = 8;

/// What a call came to, still inside.
pub(super) type Came<'a, T = ()> = (Inside<'a>, Result<T, Error>);

impl Engine {
    /// Does what `form` says with all other members of the flow. Lengths have been checked; no other messages of `flow`
    /// have tags below 2³¹.
    ///
    /// # Errors
    /// A member died, or finished without making this call; the members do not make the same call; the job is over.
    pub fn collective<'f>(
        &self,
        flow: FlowId,
        form: impl Into<Form<'f>>,
        reduction: Option<&Reduction>,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), Error> {
        self.collective_of(flow, form.into(), reduction, Slices { input, output })
    }

    /// The same, in memory known by its address.
    ///
    /// # Errors
    /// As [`Engine::collective`].
    pub fn collective_at<'f>(
        &self,
        flow: FlowId,
        form: impl Into<Form<'f>>,
        reduction: Option<&Reduction>,
        buffers: &mut Buffers,
    ) -> Result<(), Error> {
        self.collective_of(flow, form.into(), reduction, buffers)
    }

    /// The same among any team, with messages on any flow that have the tags from `tag` on: one for each call.
    ///
    /// # Errors
    /// As [`Engine::collective`].
    pub fn collective_among<'f>(
        &self,
        team: &Team,
        (flow, tag): (FlowId, Tag),
        form: impl Into<Form<'f>>,
        reduction: Option<&Reduction>,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), Error> {
        let core = self.enter()?;
        core.check()?;
        let mut state = State::new(Some(team.clone()), tag);
        let user = Slices { input, output };
        self.call(core, flow, &mut state, form.into(), reduction, user).1
    }

    /// Makes a collective ready for many calls on `flow`.
    ///
    /// # Errors
    /// A root or neighbour that there is not; lists of the wrong length.
    pub fn plan<'f>(&self, flow: FlowId, form: impl Into<Form<'f>>) -> Result<Plan, Error> {
        let (mut core, mut state) = self.begin(flow)?;
        let schedule = self.schedule(&core, &mut state, form.into());
        self.give_back(&mut core, flow, state);
        Ok(Plan(schedule?))
    }

    #[inline]
    fn collective_of<U: User>(
        &self,
        flow: FlowId,
        form: Form<'_>,
        reduction: Option<&Reduction>,
        user: U,
    ) -> Result<(), Error> {
        let (core, mut state) = self.begin(flow)?;
        let (mut core, result) = self.call(core, flow, &mut state, form, reduction, user);
        self.give_back(&mut core, flow, state);
        result
    }

    /// Comes in and takes the state of a flow's collectives.
    #[inline]
    pub(super) fn begin(&self, flow: FlowId) -> Result<(Inside<'_>, Box<State>), Error> {
        let mut core = self.enter()?;
        core.check()?;
        match core.collectives.take(flow) {
            Some(state) => Ok((core, state)),
            None => self.wait_for_turn(core, flow),
        }
    }

    /// This rank's part of a collective, for keeping.
    pub(super) fn schedule(
        &self,
        core: &Core,
        state: &mut State,
        form: Form<'_>,
    ) -> Result<Arc<Schedule>, Error> {
        let seat = self.seat(core, state);
        match form {
            Form::Even(shape) => find(&mut state.kept, seat, state.watch.team.as_ref(), shape).cloned(),
            form => made(seat, state.watch.team.as_ref(), form),
        }
    }

    /// Where this rank sits in the collectives of a flow.
    #[inline]
    fn seat(&self, core: &Core, state: &State) -> Seat {
        let crowded = core.collectives.crowded;
        match &state.watch.team {
            Some(team) => team.seat(crowded),
            None => {
                let ranks = self.size() as usize;
                Seat { me: self.rank().0 as usize, ranks, local: ranks, crowded }
            }
        }
    }

    /// Does it, once the flow's state is at hand.
    #[inline]
    fn call<'a, U: User>(
        &'a self,
        core: Inside<'a>,
        flow: FlowId,
        state: &mut State,
        form: Form<'_>,
        reduction: Option<&Reduction>,
        user: U,
    ) -> Came<'a> {
        let seat = self.seat(&core, state);
        let own;
        let found = match form {
            Form::Even(shape) => find(&mut state.kept, seat, state.watch.team.as_ref(), shape),
            form => {
                own = made(seat, state.watch.team.as_ref(), form);
                match &own {
                    Ok(schedule) => Ok(schedule),
                    Err(_) => return (core, own.map(drop)),
                }
            }
        };
        let schedule = match found {
            Ok(schedule) => schedule,
            Err(error) => return (core, Err(error)),
        };
        let State { calls, scratch, missing, watch, .. } = state;
        scratch.reserve(schedule.scratch_bytes);
        let mut run = Run::new((flow, calls.next()), reduction, schedule, missing);
        let mut memory = Memory { user, scratch };
        match core.check_alive(watch) {
            Ok(()) => self.drive(core, &mut run, &mut memory, watch),
            Err(error) => (core, Err(error)),
        }
    }

    /// Until the run is done or fails.
    #[inline]
    fn drive<'a, U: User>(
        &'a self,
        mut core: Inside<'a>,
        run: &mut Run<'_>,
        memory: &mut Memory<'_, U>,
        watch: &mut Watch,
    ) -> Came<'a> {
        let mut patience = core.habits.patience();
        let looks = if core.habits.crowded { YIELDS_PER_PASS } else { LOOKS_PER_PASS };
        let mut idle = 0;
        loop {
            let inner = &mut *core;
            let stop = match run.advance(&mut inner.proto, &mut inner.rails, memory) {
                Ok(stop) => stop,
                Err(error) => return (core, Err(error)),
            };
            let mut long = stop == Stop::Long;
            match stop {
                Stop::Done => return (core, Ok(())),
                Stop::Missing { moved: true } => patience.renew(),
                Stop::Missing { moved: false } => {
                    idle += 1;
                    let next = patience.next();
                    match next {
                        Next::Yield => core = self.give_way(core, &mut patience),
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
                core.pass();
                if let Err(error) = core.check_alive(watch) {
                    return (core, Err(error));
                }
                if core.contended() {
                    core = core.pause().expect("a thread of this process has been inside before");
                }
                long |= run.waits_for_gone(&core.proto);
            }
            if long {
                let result;
                (core, result) = self.finish_transfers(core, run, memory, watch);
                if result.is_err() {
                    return (core, result);
                }
                run.finish_round(memory);
                patience.renew();
            }
        }
    }

    /// Does all transfers that are left of the round, with the user's memory lent to the protocols.
    #[cold]
    #[inline(never)]
    fn finish_transfers<'a, U: User>(
        &'a self,
        mut core: Inside<'a>,
        run: &Run<'_>,
        memory: &mut Memory<'_, U>,
        watch: &mut Watch,
    ) -> Came<'a> {
        self.rouse(&core);
        let (sends, receives) = run.left();
        memory.lending(sends, &receives, |out, into, back| {
            let mut transfers = Transfers::default();
            let inner = &mut *core;
            let on = (&mut inner.proto, &mut inner.rails);
            transfers.submit(run, on, (sends, &receives), (out, into));
            let mut is_over = false;
            let ended = |core: &mut Core| {
                if !is_over && let Err(error) = core.check_alive(watch) {
                    is_over = true;
                    transfers.abandon(&mut core.proto, error);
                }
                transfers.take(&mut core.proto, back).then_some(())
            };
            match self.wait_for(core, None, ended) {
                Ok((core, ())) => (core, transfers.result()),
                Err(_) => unreachable!("a wait without a deadline ends with its requests"),
            }
        })
    }

    /// Another thread is inside a collective of this flow: waits for its end.
    #[cold]
    fn wait_for_turn<'a>(
        &'a self,
        mut core: Inside<'a>,
        flow: FlowId,
    ) -> Result<(Inside<'a>, Box<State>), Error> {
        core.collectives.waiting += 1;
        self.rouse(&core);
        match self.wait_for(core, None, |core: &mut Core| core.collectives.take(flow)) {
            Ok((mut core, state)) => {
                core.collectives.waiting -= 1;
                Ok((core, state))
            }
            Err((_, Unmet::Error(error))) => Err(error),
            Err((_, Unmet::Deadline)) => unreachable!("a wait without a deadline"),
        }
    }

    #[inline]
    pub(super) fn give_back(&self, core: &mut Inside<'_>, flow: FlowId, state: Box<State>) {
        core.collectives.put(flow, state);
        if core.collectives.waiting > 0 {
            self.rouse(core);
            core.followers.drain(..).for_each(|thread| thread.unpark());
        }
    }
}
