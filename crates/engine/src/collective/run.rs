//! A collective under way: goes on as far as it can and says why it stopped. Never waits.

use canele_proto::matching::Want;
use canele_proto::{Proto, Received, Sent};
use canele_rail::{Rail, Reach};
use canele_sys::buffer::Place;
use canele_sys::ids::{FlowId, LinkId, Rank, RegionId, Tag};

use super::boards::{self, HEADER};
use super::memory::{Memory, User};
use super::reduce::Reduction;
use super::schedule::{Local, Round, Schedule, Transfer};
use crate::{Error, Failure};

/// Where a schedule is being carried out, and how far it is.
pub(crate) struct Run<'s> {
    pub flow: FlowId,
    pub tag: Tag,
    reduction: Option<&'s Reduction>,
    schedule: &'s Schedule,
    place: Progress,
    /// Receives of the round whose message has not come.
    missing: &'s mut Vec<u32>,
}

/// How far a run is.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Progress {
    round: usize,
    /// Sends of the round that are done.
    sent: usize,
    /// What of the work that follows them is done.
    worked: usize,
}

/// Why a run stopped.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    /// It has come to its end.
    Done,
    /// Messages have not come; others have since the last stop, if so it says.
    Missing { moved: bool },
    /// Something else is in front of a message: a pass will take it away.
    Behind,
    /// What is left of the round cannot be done without requests.
    Long,
}

enum Look {
    Got(usize),
    Nothing,
    Behind,
    Long,
}

impl<'s> Run<'s> {
    /// At its beginning; `missing` is memory to be used.
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

    /// Where another run of the same call was, which `missing` is of too.
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

    /// How far it is.
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

    /// Goes on as far as it can without waiting and without requests.
    ///
    /// # Errors
    /// A message has another length than this rank expects: the ranks do not make the same call.
    #[inline]
    pub fn advance<R: Rail, U: User>(
        &mut self,
        proto: &mut Proto,
        rail: &mut R,
        memory: &mut Memory<'_, U>,
    ) -> Result<Stop, Error> {
        let mut moved = false;
        while let Some(round) = self.current() {
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

    /// All transfers of the round have ended.
    pub fn all_transferred(&mut self) {
        self.missing.clear();
        self.place.sent = self.current().map_or(0, |round| round.sends.len());
    }

    /// Does work on another rank's board; says no as long as it is not mapped here.
    #[inline(never)]
    fn work_afar<R: Rail, U: User>(
        &self,
        rail: &mut R,
        memory: &mut Memory<'_, U>,
        local: &Local,
    ) -> Result<bool, Error> {
        let (of, name, at, len) = match *local {
            Local::Fetch { from, shown, into, .. } => (from, shown.name, HEADER + shown.at, into.len),
            Local::HasRead { of, name } => (of, name, 0, HEADER),
            _ => return Ok(true),
        };
        let told = memory.read(name).as_chunks().0;
        let (name, shown) = (u64::from_ne_bytes(told[0]), u64::from_ne_bytes(told[1]));
        check_length(shown as usize, self.schedule.shown)?;
        let place = Place { region: RegionId::from_word(name), offset: at as u64 };
        match (rail.reach(LinkId::in_memory(of), place, len), *local) {
            (Reach::Here(window), Local::Fetch { into, reduced, .. }) => {
                let reduced = reduced.map(|how| (how, self.reduction.expect("a reduction has an operation")));
                memory.take(window, into, reduced);
                Ok(true)
            }
            (Reach::Here(window), _) if boards::count(window) => Ok(true),
            (Reach::Wanted, _) => Ok(false),
            _ => Err(Failure::RegionLost(of).into()),
        }
    }

    /// The sends and the receives of the round that have not ended.
    pub fn left(&self) -> (&'s [Transfer], Vec<Transfer>) {
        let Some(round) = self.current() else { return (&[], Vec::new()) };
        (&round.sends[self.place.sent..], self.missing.iter().map(|n| round.receives[*n as usize]).collect())
    }

    /// Whether the run waits for a rank that is gone, whose messages lie with the other unexpected ones or never come.
    pub fn waits_for_gone(&self, proto: &Proto) -> bool {
        let Some(round) = self.current() else { return false };
        self.missing.iter().any(|n| proto.gone(round.receives[*n as usize].peer).is_some())
    }

    #[inline(always)]
    fn send<R: Rail, U: User>(
        &self,
        proto: &mut Proto,
        rail: &mut R,
        memory: &Memory<'_, U>,
        send: &Transfer,
    ) -> bool {
        let bytes = memory.read(send.span);
        proto.try_send_bytes(rail, send.peer, self.flow, self.tag, bytes) == Sent::Done
    }

    #[inline(always)]
    fn look<R: Rail, U: User>(
        &self,
        proto: &mut Proto,
        rail: &mut R,
        memory: &mut Memory<'_, U>,
        receive: &Transfer,
    ) -> Look {
        let peer = receive.peer;
        if receive.span.len > proto.eager_bytes() {
            return Look::Long; // It comes in pieces, and where they go must be known before.
        }
        if !proto.is_quiet(self.flow)
            && proto.probe(self.flow, Want { source: Some(peer), tag: Some(self.tag) }).is_some()
        {
            return Look::Long;
        }
        let Some(link) = link_from(proto, rail, peer) else { return Look::Nothing };
        match proto.try_recv(rail, link, self.flow, self.tag, memory.write(receive.span)) {
            Received::Done(len) => Look::Got(len),
            Received::Nothing => Look::Nothing,
            Received::NotHere => Look::Behind,
        }
    }
}

/// The link from a peer, which may have none towards it: a rank that is only sent to opens no link.
#[inline(always)]
fn link_from<R: Rail>(proto: &Proto, rail: &R, peer: Rank) -> Option<LinkId> {
    let known = proto.link_from(peer);
    known.or_else(|| rail.incoming().iter().copied().find(|link| rail.peer(*link) == peer))
}

/// A message of a collective has the length its receiver expects, or the ranks disagree on what they do.
#[inline(always)]
pub(crate) fn check_length(given: usize, needed: usize) -> Result<(), Error> {
    let what = "bytes that another rank gave in a collective";
    if given == needed { Ok(()) } else { Err(Error::Lengths { what, given, needed }) }
}
