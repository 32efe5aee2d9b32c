//! A run of a schedule: it advances as far as possible and returns the reason of its stop. It never waits.

use canele_mem::buffer::RegionAddress;
use canele_proto::matching::Want;
use canele_proto::request::Failure;
use canele_proto::{Envelope, Proto, Received, Sent};
use canele_rail::{FullRail, Reach};
use canele_sys::ids::{FlowId, Rank, RegionId, Tag};

use crate::Error;
use crate::memory::{Memory, User};
use crate::reduce::Reduction;
use crate::schedule::{Local, Round, Schedule, Transfer};
use crate::shared_buffers::{HEADER, count_reader};

/// One rank's run of a schedule, and its progress.
pub struct ScheduleRun<'s> {
    pub(crate) flow: FlowId,
    pub(crate) tag: Tag,
    reduction: Option<&'s Reduction>,
    schedule: &'s Schedule,
    place: Progress,
    /// Receives of the round whose message has not come.
    missing: &'s mut Vec<u32>,
}

/// The progress of a run.
#[derive(Clone, Copy, Default, Debug)]
pub struct Progress {
    round: usize,
    /// The number of sends of the round that are done.
    sent: usize,
    /// The number of steps of the following work that are done.
    worked: usize,
}

/// The reason for which a run stopped.
#[derive(PartialEq, Eq, Debug)]
pub enum Stop {
    /// The run has ended.
    Done,
    /// Messages have not come.
    Missing {
        /// True if messages were sent or received since the last stop.
        moved: bool,
    },
    /// Another packet is in front of a message: a pass will take it away.
    Behind,
    /// The rest of the round needs requests.
    Long,
}

enum Look {
    Got(usize),
    Nothing,
    Behind,
    Long,
}

impl Schedule {
    /// Returns the sources of these receives of the round that a run is in.
    pub(crate) fn peers_of(&self, place: Progress, receives: &[u32]) -> impl Iterator<Item = Rank> {
        let round = self.rounds.get(place.round);
        receives.iter().filter_map(move |number| Some(round?.receives.get(*number as usize)?.peer))
    }
}

impl<'s> ScheduleRun<'s> {
    /// Makes a run at its beginning; `missing` is memory to be used.
    #[inline]
    pub fn new(
        (flow, tag): (FlowId, Tag),
        reduction: Option<&'s Reduction>,
        schedule: &'s Schedule,
        missing: &'s mut Vec<u32>,
    ) -> Self {
        let mut run = Self::resume((flow, tag), reduction, schedule, Progress::default(), missing);
        run.begin_round();
        run
    }

    /// Makes a run in the place of another run of the same call, with that one's `missing`.
    #[inline]
    pub fn resume(
        (flow, tag): (FlowId, Tag),
        reduction: Option<&'s Reduction>,
        schedule: &'s Schedule,
        place: Progress,
        missing: &'s mut Vec<u32>,
    ) -> Self {
        Self { flow, tag, reduction, schedule, place, missing }
    }

    /// Returns its progress.
    pub fn place(&self) -> Progress {
        self.place
    }

    fn begin_round(&mut self) {
        (self.place.sent, self.place.worked) = (0, 0);
        self.missing.clear();
        if let Some(round) = self.schedule.rounds.get(self.place.round) {
            self.missing.extend(0..round.receives.len() as u32);
        }
    }

    fn current(&self) -> Option<&'s Round> {
        self.schedule.rounds.get(self.place.round)
    }

    /// Advances as far as possible without waiting and without requests.
    ///
    /// # Errors
    /// A message has another length than this rank expects: the ranks do not make the same call.
    #[inline]
    pub fn advance<R: FullRail, U: User>(
        &mut self,
        proto: &mut Proto,
        rail: &mut R,
        memory: &mut Memory<'_, U>,
    ) -> Result<Stop, Error> {
        let mut moved = false;
        while let Some(round) = self.current() {
            if memory.user.has_parts() && self.transfers_parts(round, memory) {
                return Ok(Stop::Long);
            }
            while let Some(send) = round.sends.get(self.place.sent) {
                if !self.send(proto, rail, memory, send) {
                    return Ok(Stop::Long);
                }
                self.place.sent += 1;
                moved = true;
            }
            let mut n = 0;
            let mut stop = None;
            while let Some(number) = self.missing.get(n) {
                let receive = &round.receives[*number as usize];
                match self.look(proto, rail, memory, receive) {
                    Look::Got(len) => {
                        check_length(len, receive.span.len)?;
                        self.missing.swap_remove(n);
                        moved = true;
                    }
                    Look::Nothing => n += 1,
                    Look::Behind => {
                        stop.get_or_insert(Stop::Behind);
                        n += 1;
                    }
                    Look::Long => return Ok(Stop::Long),
                }
            }
            if !self.missing.is_empty() {
                return Ok(stop.unwrap_or(Stop::Missing { moved }));
            }
            while let Some(local) = round.then.get(self.place.worked) {
                match local {
                    Local::Fetch { .. } | Local::HasRead { .. } => {
                        if !self.work_afar(rail, memory, local)? {
                            return Ok(Stop::Missing { moved });
                        }
                    }
                    local => memory.work(*local, self.reduction),
                }
                self.place.worked += 1;
            }
            self.place.round += 1;
            self.begin_round();
        }
        Ok(Stop::Done)
    }

    /// Returns true if a transfer that is left of the round is one of elements of a layout, which is only
    /// lent.
    #[cold]
    fn transfers_parts<U: User>(&self, round: &Round, memory: &Memory<'_, U>) -> bool {
        let sends = round.sends[self.place.sent..].iter();
        let receives = self.missing.iter().map(|number| &round.receives[*number as usize]);
        sends.chain(receives).any(|transfer| memory.user.has_parts_in(transfer.span.area))
    }

    /// Notes that all transfers of the round have ended.
    pub fn all_transferred(&mut self) {
        self.missing.clear();
        self.place.sent = self.current().map_or(0, |round| round.sends.len());
    }

    /// Does work on another rank's shared buffer; returns false as long as it is not mapped here.
    #[inline(never)]
    fn work_afar<R: FullRail, U: User>(
        &self,
        rail: &mut R,
        memory: &mut Memory<'_, U>,
        local: &Local,
    ) -> Result<bool, Error> {
        let (of, name, at, len) = match *local {
            Local::Fetch { from, published, into, .. } => {
                (from, published.name, HEADER + published.at, into.len)
            }
            Local::HasRead { of, name } => (of, name, 0, HEADER),
            _ => return Ok(true),
        };
        let told = memory.read(name).as_chunks().0;
        let (name, published) = (u64::from_ne_bytes(told[0]), u64::from_ne_bytes(told[1]));
        check_length(published as usize, self.schedule.published)?;
        let place = RegionAddress { region: RegionId::from_word(name), offset: at as u64 };
        let link = rail.memory_link(of).ok_or(Failure::RegionLost(of))?;
        match (rail.reach(link, place, len), *local) {
            (Reach::Here(window), Local::Fetch { into, reduced, .. }) => {
                let reduced = reduced.map(|how| (how, self.reduction.expect("a reduction has an operation")));
                memory.take(window, into, reduced);
                Ok(true)
            }
            (Reach::Here(window), _) if count_reader(window) => Ok(true),
            (Reach::Wanted, _) => Ok(false),
            _ => Err(Failure::RegionLost(of).into()),
        }
    }

    /// Returns the flow and the tag of its messages.
    pub fn name(&self) -> (FlowId, Tag) {
        (self.flow, self.tag)
    }

    /// Returns the sends and the receives of the round that have not ended.
    pub fn left(&self) -> (&'s [Transfer], Vec<Transfer>) {
        let Some(round) = self.current() else { return (&[], Vec::new()) };
        (&round.sends[self.place.sent..], self.missing.iter().map(|n| round.receives[*n as usize]).collect())
    }

    /// Returns true if the run waits for a rank that is gone: its messages are among the unexpected ones or
    /// never come.
    pub fn waits_for_gone(&self, proto: &Proto) -> bool {
        let Some(round) = self.current() else { return false };
        self.missing.iter().any(|n| proto.gone(round.receives[*n as usize].peer).is_some())
    }

    #[inline(always)]
    fn send<R: FullRail, U: User>(
        &self,
        proto: &mut Proto,
        rail: &mut R,
        memory: &Memory<'_, U>,
        send: &Transfer,
    ) -> bool {
        let bytes = memory.read(send.span);
        proto.post(rail, Envelope::expected(send.peer, self.flow, self.tag), bytes) == Sent::Done
    }

    #[inline(always)]
    fn look<R: FullRail, U: User>(
        &self,
        proto: &mut Proto,
        rail: &mut R,
        memory: &mut Memory<'_, U>,
        receive: &Transfer,
    ) -> Look {
        let peer = receive.peer;
        if receive.span.len > proto.eager_bytes() {
            return Look::Long; // It comes in pieces, whose place must be known before.
        }
        let want = Want { source: Some(peer), tag: Some(self.tag) };
        if !proto.is_quiet(self.flow) && proto.probe(self.flow, want).is_some() {
            return Look::Long;
        }
        match proto.try_recv(rail, self.flow, want, memory.write(receive.span)) {
            Received::Done(status) => Look::Got(status.bytes),
            Received::Nothing => Look::Nothing,
            Received::NotHere if proto.incoming_link(rail, peer).is_none() => Look::Nothing,
            Received::NotHere => Look::Behind,
        }
    }
}

/// Checks the length of a message: if it differs from the receiver's, the ranks do not make the same call.
#[inline(always)]
pub(crate) fn check_length(given: usize, needed: usize) -> Result<(), Error> {
    let what = "bytes that another rank gave in a collective";
    if given == needed { Ok(()) } else { Err(Error::Lengths { what, given, needed }) }
}
