//! A collective under way: goes on as far as it can and says why it stopped. Never waits.

use canele_proto::matching::Want;
use canele_proto::{Received, Sent};
use canele_rail::Rail;
use canele_sys::ids::{FlowId, LinkId, Rank, Tag};

use super::memory::Memory;
use super::reduce::Kernel;
use super::schedule::{Round, Schedule, Transfer};
use crate::Error;
use crate::core::Core;

/// Where a schedule is being carried out, and how far it is.
pub(crate) struct Run<'s> {
    pub flow: FlowId,
    pub tag: Tag,
    pub kernel: Option<Kernel>,
    schedule: &'s Schedule,
    round: usize,
    /// Sends of the round that are done.
    sent: usize,
    /// Receives of the round whose message has not come.
    missing: &'s mut Vec<u32>,
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
    pub fn new(
        flow: FlowId,
        tag: Tag,
        kernel: Option<Kernel>,
        schedule: &'s Schedule,
        missing: &'s mut Vec<u32>,
    ) -> Self {
        let mut run = Self { flow, tag, kernel, schedule, round: 0, sent: 0, missing };
        run.begin_round();
        run
    }

    fn begin_round(&mut self) {
        self.sent = 0;
        self.missing.clear();
        if let Some(round) = self.schedule.rounds.get(self.round) {
            self.missing.extend(0..round.receives.len() as u32);
        }
    }

    fn current(&self) -> Option<&'s Round> {
        self.schedule.rounds.get(self.round)
    }

    /// Goes on as far as it can without waiting and without requests.
    ///
    /// # Errors
    /// A message has another length than this rank expects: the ranks do not make the same call.
    #[inline]
    pub fn advance(&mut self, core: &mut Core, memory: &mut Memory<'_>) -> Result<Stop, Error> {
        let mut moved = false;
        while let Some(round) = self.current() {
            while let Some(send) = round.sends.get(self.sent) {
                if !self.send(core, memory, send) {
                    return Ok(Stop::Long);
                }
                self.sent += 1;
                moved = true;
            }
            let mut n = 0;
            let mut stop = None;
            while let Some(number) = self.missing.get(n) {
                let receive = &round.receives[*number as usize];
                match self.look(core, memory, receive) {
                    Look::Got(len) => {
                        check_length(len, receive)?;
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
            self.finish_round(memory);
        }
        Ok(Stop::Done)
    }

    /// All transfers of the round have ended: does what follows them.
    pub fn finish_round(&mut self, memory: &mut Memory<'_>) {
        if let Some(round) = self.current() {
            round.then.iter().for_each(|local| memory.work(*local, self.kernel));
        }
        self.round += 1;
        self.begin_round();
    }

    /// The sends and the receives of the round that have not ended.
    pub fn left(&self) -> (&'s [Transfer], Vec<Transfer>) {
        let Some(round) = self.current() else { return (&[], Vec::new()) };
        (&round.sends[self.sent..], self.missing.iter().map(|n| round.receives[*n as usize]).collect())
    }

    /// Whether the run waits for a rank that is gone, whose messages lie with the other unexpected ones or never come.
    pub fn waits_for_gone(&self, core: &Core) -> bool {
        let Some(round) = self.current() else { return false };
        self.missing.iter().any(|n| core.proto.gone(round.receives[*n as usize].peer).is_some())
    }

    #[inline(always)]
    fn send(&self, core: &mut Core, memory: &Memory<'_>, send: &Transfer) -> bool {
        let bytes = memory.read(send.span);
        core.proto.try_send_bytes(&mut core.rails, send.peer, self.flow, self.tag, bytes) == Sent::Done
    }

    #[inline(always)]
    fn look(&self, core: &mut Core, memory: &mut Memory<'_>, receive: &Transfer) -> Look {
        let peer = receive.peer;
        if !core.proto.is_quiet(self.flow)
            && core.proto.probe(self.flow, Want { source: Some(peer), tag: Some(self.tag) }).is_some()
        {
            return Look::Long;
        }
        let Some(link) = link_from(core, peer) else { return Look::Nothing };
        match core.proto.try_recv(&mut core.rails, link, self.flow, self.tag, memory.write(receive.span)) {
            Received::Done(len) => Look::Got(len),
            Received::Nothing => Look::Nothing,
            Received::NotHere => Look::Behind,
        }
    }
}

/// The link from a peer, which may have none towards it: a rank that is only sent to opens no link.
#[inline(always)]
fn link_from(core: &Core, peer: Rank) -> Option<LinkId> {
    let known = core.proto.link_from(peer);
    known.or_else(|| core.rails.incoming().iter().copied().find(|link| core.rails.peer(*link) == peer))
}

/// A message of a collective has the length its receiver expects, or the ranks disagree on what they do.
pub(crate) fn check_length(given: usize, receive: &Transfer) -> Result<(), Error> {
    let needed = receive.span.len;
    let what = "bytes that another rank gave in a collective";
    if given == needed { Ok(()) } else { Err(Error::Lengths { what, given, needed }) }
}
