//! One rank's part in a collective, on any protocols and any rail, for whoever drives it: it goes on when asked, and never
//! waits. Non-blocking collectives are such parts, and those of many simulated ranks.
//!
//! Owns the memory of the library's own and lends the user's; gives both back at its end. The algorithm and its steps are
//! those of a blocking collective.

use std::sync::Arc;

use canele_proto::Proto;
use canele_rail::Rail;
use canele_sys::buffer::Divided;
use canele_sys::ids::{FlowId, Tag};

use super::choose::Seat;
use super::form::Form;
use super::lasting::{Buffers, Place};
use super::made;
use super::memory::Memory;
use super::reduce::Reduction;
use super::run::{self, Run, Stop};
use super::schedule::Schedule;
use super::team::Team;
use super::transfers::Transfers;
use crate::Error;

/// A collective as one rank sees it.
pub struct Part {
    name: (FlowId, Tag),
    reduction: Option<Reduction>,
    schedule: Arc<Schedule>,
    place: run::Progress,
    missing: Vec<u32>,
    buffers: Buffers,
    scratch: Divided,
    transfers: Transfers,
    /// How many had gone when it last looked for them.
    partings: usize,
}

/// How far a part has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// It has come to its end.
    Done,
    /// It goes on after a pass that did something.
    Waiting,
}

impl Part {
    /// The part of the rank whose protocols `proto` are, one of many on processors of their own; among a team, or else all
    /// of them. `call` is another one for each collective of a flow, the same on all ranks.
    ///
    /// # Errors
    /// A root or neighbour that there is not; lists of the wrong length.
    ///
    /// # Panics
    /// For a plan: those are of an engine's flow.
    pub fn new<'f>(
        proto: &Proto,
        (flow, call): (FlowId, u32),
        team: Option<&Team>,
        form: impl Into<Form<'f>>,
        reduction: Option<Reduction>,
        buffers: Buffers,
    ) -> Result<Self, Error> {
        let all = Seat {
            me: proto.me().0 as usize,
            ranks: proto.ranks(),
            local: proto.ranks(),
            crowded: false,
            boards: false,
        };
        let seat = team.map_or(all, |team| team.seat(false, false));
        let schedule = Arc::new(made(seat, team, &form.into())?);
        Ok(Self::of(schedule, (flow, Tag(call)), reduction, buffers))
    }

    /// At the beginning of a schedule.
    pub(super) fn of(
        schedule: Arc<Schedule>,
        name: (FlowId, Tag),
        reduction: Option<Reduction>,
        buffers: Buffers,
    ) -> Self {
        let (mut missing, scratch) = (Vec::new(), Divided::new(schedule.scratch_bytes));
        let place = Run::new(name, reduction.as_ref(), &schedule, &mut missing).place();
        let (transfers, partings) = (Transfers::default(), 0);
        Self { name, reduction, schedule, place, missing, buffers, scratch, transfers, partings }
    }

    /// What this rank has got, once all is done, in memory of the library's own.
    pub fn output(&self) -> &[u8] {
        match &self.buffers.output {
            Place::Own(own) => own.bytes(),
            _ => &[],
        }
    }

    /// The memory, once all is done.
    pub fn take_buffers(&mut self) -> Buffers {
        std::mem::take(&mut self.buffers)
    }

    /// Goes on as far as it can.
    ///
    /// # Errors
    /// A peer died; the ranks do not make the same call; it was given up. Nothing is lent any more.
    pub fn advance<R: Rail>(&mut self, proto: &mut Proto, rail: &mut R) -> Result<Step, Error> {
        let Self { name, reduction, schedule, place, missing, buffers, scratch, transfers, partings } = self;
        let mut run = Run::resume(*name, reduction.as_ref(), schedule, *place, missing);
        let mut memory = Memory { user: buffers, scratch, board: None };
        let step = loop {
            if transfers.are_under_way() {
                if !transfers.take(proto, &mut |area, buffer| memory.take_back(area, buffer)) {
                    break Step::Waiting;
                }
                transfers.result()?;
                run.all_transferred();
            }
            match run.advance(proto, rail, &mut memory)? {
                Stop::Done => break Step::Done,
                Stop::Missing { .. } | Stop::Behind => {
                    let gone = std::mem::replace(partings, proto.partings());
                    if gone == *partings || !run.waits_for_gone(proto) {
                        break Step::Waiting;
                    }
                }
                Stop::Long => {}
            }
            let (sends, receives) = run.left();
            let buffers = memory.lend(sends, &receives);
            transfers.submit(&run, (proto, rail), (sends, &receives), buffers);
        };
        *place = run.place();
        Ok(step)
    }

    /// Gives it up, because of `error`, with which it fails as soon as nothing of it is lent.
    pub(super) fn give_up(&mut self, proto: &mut Proto, error: Error) -> Result<(), Error> {
        if !self.transfers.are_under_way() {
            return Err(error);
        }
        self.transfers.abandon(proto, error);
        Ok(())
    }
}
