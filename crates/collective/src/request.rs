//! Collective requests: each is one rank's part in a collective, on any protocols and any rail. It advances
//! when asked, and never waits. Non-blocking collectives and those of many simulated ranks are such requests.
//!
//! Owns the library's own memory and lends the user's; gives both back at its end. The algorithm and its
//! steps are those of a blocking collective.

use std::sync::Arc;

use canele_mem::buffer::Divided;
use canele_proto::Proto;
use canele_rail::FullRail;
use canele_sys::ids::{FlowId, Rank, Tag};

use crate::Error;
use crate::buffers::{Buffers, CollectiveBuffer};
use crate::choose::{CollectiveCosts, Seat};
use crate::memory::{Back, Memory};
use crate::reduce::Reduction;
use crate::schedule::Schedule;
use crate::schedule_run::{self, ScheduleRun, Stop};
use crate::shared_buffers::SharedBuffer;
use crate::spec::CollectiveSpec;
use crate::team::Team;
use crate::transfers::Transfers;

/// A request for a collective, as one rank sees it.
pub struct CollectiveRequest {
    name: (FlowId, Tag),
    reduction: Option<Reduction>,
    schedule: Arc<Schedule>,
    place: schedule_run::Progress,
    missing: Vec<u32>,
    buffers: Buffers,
    scratch: Divided,
    shared_buffer: Option<SharedBuffer>,
    transfers: Transfers,
    /// Sends that the schedule goes on without.
    behind: Transfers,
    /// True once nothing but those is left, or it has failed.
    is_ending: bool,
    /// The number of ranks that had finished or died at the last look.
    finished_ranks: usize,
}

/// The progress of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CollectiveProgress {
    /// The request has ended.
    Done,
    /// The request advances after a pass that moved something.
    Waiting,
}

impl CollectiveRequest {
    /// Makes the part of the rank with the protocols `proto`, among a team, or else all ranks. Each rank has
    /// a processor of its own. `call` differs for each collective of a flow, and is equal on all ranks.
    ///
    /// # Errors
    /// A root or neighbour does not exist; lists of the wrong length.
    pub fn new<'f>(
        proto: &Proto,
        (flow, call): (FlowId, u32),
        team: Option<&Team>,
        spec: impl Into<CollectiveSpec<'f>>,
        reduction: Option<Reduction>,
        buffers: Buffers,
    ) -> Result<Self, Error> {
        let all = Seat {
            me: proto.me().0 as usize,
            ranks: proto.ranks(),
            local: proto.ranks(),
            oversubscribed: false,
            shared_buffers: false,
            costs: CollectiveCosts::default(),
            levels: None,
            forced: None,
        };
        let seat = team.map_or(all, |team| team.seat(all));
        let schedule = Arc::new(Schedule::make(seat, (team, None), &spec.into())?);
        Ok(Self::of(schedule, (flow, Tag(call)), reduction, buffers))
    }

    /// Returns the flow and the tag of its messages.
    pub fn name(&self) -> (FlowId, Tag) {
        self.name
    }

    /// Returns the ranks whose messages of this round have not come, as far as the request has looked.
    pub fn missing(&self) -> impl Iterator<Item = Rank> {
        self.schedule.peers_of(self.place, &self.missing)
    }

    /// Sets the shared buffer that its schedule needs, before it begins.
    ///
    /// # Panics
    /// Its schedule needs none.
    pub fn publish_in(mut self, shared_buffer: SharedBuffer) -> Self {
        let needed = self.schedule.shared_buffer.expect("a schedule that needs a shared buffer");
        shared_buffer.write_name(needed, &self.schedule, &mut self.scratch);
        Self { shared_buffer: Some(shared_buffer), ..self }
    }

    /// Makes a request at the beginning of a schedule. If the schedule needs a shared buffer,
    /// [`CollectiveRequest::publish_in`] sets it.
    pub fn of(
        schedule: Arc<Schedule>,
        name: (FlowId, Tag),
        reduction: Option<Reduction>,
        buffers: Buffers,
    ) -> Self {
        let (mut missing, scratch) = (Vec::new(), Divided::new(schedule.scratch_bytes));
        let place = ScheduleRun::new(name, reduction.as_ref(), &schedule, &mut missing).place();
        Self {
            name,
            reduction,
            schedule,
            place,
            missing,
            buffers,
            scratch,
            shared_buffer: None,
            transfers: Transfers::default(),
            behind: Transfers::default(),
            is_ending: false,
            finished_ranks: 0,
        }
    }

    /// Returns this rank's output, once all is done; empty if the output does not lie in memory of the
    /// library.
    pub fn output(&self) -> &[u8] {
        match &self.buffers.output {
            CollectiveBuffer::Own(own) => own.bytes(),
            _ => &[],
        }
    }

    /// Takes the memory, once all is done.
    pub fn take_buffers(&mut self) -> Buffers {
        std::mem::take(&mut self.buffers)
    }

    /// Advances as far as possible.
    ///
    /// # Errors
    /// A peer died; the ranks do not make the same call; the request was given up. Nothing is lent any more.
    pub fn advance<R: FullRail>(
        &mut self,
        proto: &mut Proto,
        rail: &mut R,
    ) -> Result<CollectiveProgress, Error> {
        if !self.is_ending {
            match self.advance_schedule(proto, rail) {
                Ok(CollectiveProgress::Waiting) => return Ok(CollectiveProgress::Waiting),
                Ok(CollectiveProgress::Done) => {}
                Err(error) => self.behind.abandon(proto, error),
            }
            self.is_ending = true;
        }
        match self.behind.take(proto, &mut |_, _| {}) {
            true => self.behind.result().map(|()| CollectiveProgress::Done),
            false => Ok(CollectiveProgress::Waiting),
        }
    }

    fn advance_schedule<R: FullRail>(
        &mut self,
        proto: &mut Proto,
        rail: &mut R,
    ) -> Result<CollectiveProgress, Error> {
        let Self {
            name,
            reduction,
            schedule,
            place,
            missing,
            buffers,
            scratch,
            shared_buffer,
            transfers,
            behind,
            finished_ranks,
            ..
        } = self;
        let mut run = ScheduleRun::resume(*name, reduction.as_ref(), schedule, *place, missing);
        let mut memory = Memory {
            user: buffers,
            scratch,
            shared_buffer: shared_buffer.as_ref().and_then(SharedBuffer::window),
        };
        let step = loop {
            if transfers.are_under_way() {
                if !transfers.take(proto, &mut |area, buffer| memory.take_back(area, buffer)) {
                    break CollectiveProgress::Waiting;
                }
                transfers.result()?;
                run.all_transferred();
            }
            match run.advance(proto, rail, &mut memory)? {
                Stop::Done => break CollectiveProgress::Done,
                Stop::Missing { .. } | Stop::Behind => {
                    let gone = std::mem::replace(finished_ranks, proto.count_gone());
                    if gone == *finished_ranks || !run.waits_for_gone(proto) {
                        break CollectiveProgress::Waiting;
                    }
                }
                Stop::Long => {}
            }
            let (sends, receives) = run.left();
            let buffers = memory.lend(sends, &receives);
            let back: Back<'_> = &mut |area, buffer| memory.take_back(area, buffer);
            transfers.submit(&run, (proto, rail), (sends, &receives), buffers, (behind, back));
            if !transfers.are_under_way() {
                run.all_transferred();
            }
        };
        *place = run.place();
        Ok(step)
    }

    /// Gives the request up with `error`: it fails as soon as none of its memory is lent.
    ///
    /// # Errors
    /// `error`, if nothing is lent already.
    pub fn give_up(&mut self, proto: &mut Proto, error: Error) -> Result<(), Error> {
        if self.transfers.are_under_way() {
            self.transfers.abandon(proto, error);
            return Ok(());
        }
        if !self.behind.are_under_way() {
            return Err(error);
        }
        self.behind.abandon(proto, error);
        self.is_ending = true;
        Ok(())
    }
}
