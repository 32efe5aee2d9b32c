//! The calls: a flow's state is taken, its next number is drawn, and a schedule begins.
//!
//! Owns whose turn it is on a flow. Never carries a schedule out: see `drive`.

use std::sync::Arc;

use canele_sys::ids::{FlowId, Tag};

use super::choose::Seat;
use super::drive::Came;
use super::form::{Form, Plan};
use super::lasting::Buffers;
use super::memory::{Memory, Slices, User, within_mut};
use super::reduce::Reduction;
use super::run::Run;
use super::schedule::Schedule;
use super::team::Team;
use super::{State, made};
use crate::Error;
use crate::core::Core;
use crate::engine::{Engine, Inside};
use crate::wait::Unmet;

/// How a collective is called.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// By a thread that waits inside until its end.
    Waiting,
    /// By one that goes on.
    Started,
}

impl Engine {
    /// Does what `form` says with all other members of the flow. Lengths have been checked; no other messages of `flow`
    /// have tags below 2³¹.
    ///
    /// # Errors
    /// A member died, or finished without making this call; the members do not make the same call; the job is over.
    #[inline(always)]
    pub fn collective<'f>(
        &self,
        flow: FlowId,
        form: impl Into<Form<'f>>,
        reduction: Option<&Reduction>,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), Error> {
        self.collective_in_slices(flow, &form.into(), reduction, input, output)
    }

    #[inline(never)]
    fn collective_in_slices(
        &self,
        flow: FlowId,
        form: &Form<'_>,
        reduction: Option<&Reduction>,
        input: &[u8],
        output: &mut [u8],
    ) -> Result<(), Error> {
        self.collective_of(flow, form, reduction, Slices { input, output })
    }

    /// The same, in memory known by its address.
    ///
    /// # Errors
    /// As [`Engine::collective`].
    #[inline(always)]
    pub fn collective_at<'f>(
        &self,
        flow: FlowId,
        form: impl Into<Form<'f>>,
        reduction: Option<&Reduction>,
        buffers: &mut Buffers,
    ) -> Result<(), Error> {
        self.collective_in_buffers(flow, &form.into(), reduction, buffers)
    }

    #[inline(never)]
    fn collective_in_buffers(
        &self,
        flow: FlowId,
        form: &Form<'_>,
        reduction: Option<&Reduction>,
        buffers: &mut Buffers,
    ) -> Result<(), Error> {
        self.collective_of(flow, form, reduction, buffers)
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
        self.call(core, flow, &mut state, &form.into(), reduction, user).1
    }

    /// Makes a collective ready to be started many times on `flow`; all members make their plans in the same order, among
    /// what they start otherwise.
    ///
    /// # Errors
    /// A root or neighbour that there is not; lists of the wrong length.
    pub fn plan<'f>(&self, flow: FlowId, form: impl Into<Form<'f>>) -> Result<Plan, Error> {
        let (mut core, mut state) = self.begin(flow)?;
        let schedule = self.schedule(&core, &mut state, &form.into(), Manner::Started);
        let tag = if schedule.is_ok() { state.started.next() } else { Tag(0) };
        self.give_back(&mut core, flow, state);
        Ok(Plan { schedule: schedule?, tag })
    }

    #[inline(always)]
    fn collective_of<U: User>(
        &self,
        flow: FlowId,
        form: &Form<'_>,
        reduction: Option<&Reduction>,
        user: U,
    ) -> Result<(), Error> {
        // As `begin`, spelled out: every move of the guard costs.
        let mut core = self.enter()?;
        core.check()?;
        let mut state;
        (core, state) = match core.collectives.take(flow) {
            Some(state) => (core, state),
            None => self.wait_for_turn(core, flow)?,
        };
        let (mut core, result) = self.call(core, flow, &mut state, form, reduction, user);
        self.give_back(&mut core, flow, state);
        result
    }

    /// Comes in and takes the state of a flow's collectives.
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
        form: &Form<'_>,
        manner: Manner,
    ) -> Result<Arc<Schedule>, Error> {
        let seat = self.seat(core, state, manner);
        let State { kept, kept_started, watch, .. } = state;
        let make = || made(seat, watch.team.as_ref(), form);
        match form {
            Form::Even(shape) if manner == Manner::Waiting => kept.find(shape, make).cloned(),
            Form::Even(shape) => kept_started.find(shape, make).cloned(),
            _ => make().map(Arc::new),
        }
    }

    /// Where this rank sits in the collectives of a flow.
    fn seat(&self, core: &Core, state: &State, manner: Manner) -> Seat {
        let crowded = core.collectives.crowded;
        let boards = crowded && manner == Manner::Waiting;
        match &state.watch.team {
            Some(team) => team.seat(crowded, boards),
            None => {
                let ranks = self.size() as usize;
                Seat { me: self.rank().0 as usize, ranks, local: ranks, crowded, boards }
            }
        }
    }

    /// Does it, once the flow's state is at hand.
    #[inline(always)]
    fn call<'a, U: User>(
        &'a self,
        mut core: Inside<'a>,
        flow: FlowId,
        state: &mut State,
        form: &Form<'_>,
        reduction: Option<&Reduction>,
        user: U,
    ) -> Came<'a> {
        let seat = self.seat(&core, state, Manner::Waiting);
        let State { calls, kept, scratch, missing, watch, .. } = state;
        let make = || made(seat, watch.team.as_ref(), form);
        let own;
        let found = match form {
            Form::Even(shape) => kept.find(shape, make).map(AsRef::as_ref),
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
            Err(error) => return (core, Err(error)),
        };
        scratch.reserve(schedule.scratch_bytes);
        let name = (flow, calls.next());
        if let Err(error) = core.check_alive(watch) {
            return (core, Err(error));
        }
        let Some(needed) = schedule.board else {
            let mut run = Run::new(name, reduction, schedule, missing);
            return self.drive(core, &mut run, &mut Memory { user, scratch, board: None }, watch);
        };
        let board;
        (core, board) = match self.take_board(core, needed) {
            (core, Ok(board)) => (core, board),
            (core, Err(error)) => return (core, Err(error)),
        };
        let told = [board.name(), (schedule.shown as u64).to_ne_bytes()].concat();
        within_mut(scratch.bytes_mut(), needed.name).copy_from_slice(&told);
        let mut run = Run::new(name, reduction, schedule, missing);
        let mut memory = Memory { user, scratch, board: board.window() };
        let (mut core, result) = self.drive(core, &mut run, &mut memory, watch);
        core.give_board_back(board, result.is_ok().then_some(needed.readers));
        (core, result)
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

    #[inline(always)]
    pub(super) fn give_back(&self, core: &mut Inside<'_>, flow: FlowId, state: Box<State>) {
        core.collectives.put(flow, state);
        if core.collectives.waiting > 0 {
            self.rouse(core);
            core.followers.drain(..).for_each(|thread| thread.unpark());
        }
    }
}
