//! The calls: a flow's state is taken, its next number is drawn, and a schedule begins.
//!
//! Owns whose turn it is on a flow. Never carries a schedule out: see `drive`.

use std::sync::Arc;

use canele_sys::ids::{FlowId, Tag};

use super::choose::Seat;
use super::drive::Came;
use super::form::{Form, Plan};
use super::lasting::Buffers;
use super::memory::{Memory, Slices, User};
use super::reduce::Reduction;
use super::run::Run;
use super::schedule::Schedule;
use super::team::Team;
use super::{State, find, made};
use crate::Error;
use crate::core::Core;
use crate::engine::{Engine, Inside};
use crate::wait::Unmet;

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

    /// Makes a collective ready to be started many times on `flow`; all members make their plans in the same order, among
    /// what they start otherwise.
    ///
    /// # Errors
    /// A root or neighbour that there is not; lists of the wrong length.
    pub fn plan<'f>(&self, flow: FlowId, form: impl Into<Form<'f>>) -> Result<Plan, Error> {
        let (mut core, mut state) = self.begin(flow)?;
        let schedule = self.schedule(&core, &mut state, form.into());
        let tag = if schedule.is_ok() { state.started.next() } else { Tag(0) };
        self.give_back(&mut core, flow, state);
        Ok(Plan { schedule: schedule?, tag })
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
