//! Memory of ranks of other hosts: operations that are done there by their owner, and what is done here for others.
//!
//! Owns the waiting of those who ask, and shows regions and the layer above to the [`Desk`](canele_proto::errand::Desk), which
//! runs the errands of others in every pass of a rank that has sockets. Ranks of one host come here only where the memory they
//! look for is not in what they have mapped.

use std::sync::Arc;
use std::time::Instant;

use canele_proto::Sent;
use canele_proto::errand::{ANSWER, ANSWERS, Answer, DATA, ERRANDS, Errand, Estate, Form, Refusal, Tell};
use canele_proto::matching::Want;
use canele_proto::request::{Buffer, Mode};
use canele_rail::shm::{Elsewhere, Far};
use canele_sys::atomic::AtomicU64;
use canele_sys::buffer::{self, InBuffer, OutBuffer, Place};
use canele_sys::ids::{FlowId, Rank, RegionId, Tag};

use crate::Error;
use crate::core::Core;
use crate::engine::{Engine, Inside};
use crate::rails::Rails;

/// Answers the questions of ranks of other hosts, and takes what they deposit, for a layer above. It is called from within
/// whatever call makes progress, and must not call the library.
pub trait Clerk: Send + Sync {
    /// The answer to a question. Whoever is to be told of what it changed, by an empty message, joins `tell`.
    fn ask(&self, from: Rank, question: [u64; 3], tell: &mut Vec<Tell>) -> u64;
    /// Data that came, known by `of`; nothing if it did not come as announced.
    fn deposit(&self, from: Rank, of: [u64; 2], data: Option<Vec<u8>>);
}

/// The two messages of a deposit.
pub struct Deposit {
    /// What announces it: flow, tag, bytes.
    pub head: (FlowId, Tag, Vec<u8>),
    /// How the data is sent: flow, tag.
    pub data: (FlowId, Tag),
}

/// An errand with the caller's memory.
struct Trip<'a> {
    to: Rank,
    errand: Errand,
    data: &'a [u8],
    into: &'a mut [u8],
    /// What is to be asked if an answer comes that nobody waits for any more.
    undo: Option<[u64; 3]>,
}

impl<'a> Trip<'a> {
    fn new(to: Rank, errand: Errand) -> Self {
        Self { to, errand, data: &[], into: &mut [], undo: None }
    }
}

impl Engine {
    /// Whether a rank runs on another host, so that no memory can be shared with it.
    pub fn is_elsewhere(&self, rank: Rank) -> bool {
        self.job().host_of(rank.0) != self.job().host_of(self.rank().0)
    }

    /// Who answers questions and takes deposits from now on.
    ///
    /// # Errors
    /// `Forked`.
    pub fn employ(&self, clerk: Arc<dyn Clerk>) -> Result<(), Error> {
        self.enter()?.clerk = Some(clerk);
        Ok(())
    }

    /// Asks the layer above of another host's rank something. After a deadline, `undo` is asked should the answer, when it comes,
    /// be a value other than 0.
    ///
    /// # Errors
    /// The rank is gone; the deadline passed.
    pub fn ask_owner(
        &self,
        owner: Rank,
        question: [u64; 3],
        undo: Option<[u64; 3]>,
        deadline: Option<Instant>,
    ) -> Result<u64, Error> {
        let trip = Trip { undo, ..Trip::new(owner, Errand::Ask(question)) };
        self.travel(self.enter_to_submit()?, trip, deadline)
    }

    /// How to deposit `len` bytes at a rank of another host, known there by `of`.
    ///
    /// # Errors
    /// The job is over.
    pub fn deposit(&self, of: [u64; 2], len: usize) -> Result<Deposit, Error> {
        let ticket = self.enter_to_submit()?.desk.take_ticket();
        let errand = Errand::Deposit { of, len: len as u64 };
        let (head, bytes) = errand.head(Form::Apart);
        let head = (ERRANDS, errand.tag(Form::Apart, ticket), head[..bytes].to_vec());
        Ok(Deposit { head, data: (DATA, Tag(ticket)) })
    }

    /// Reads a region that is not here.
    ///
    /// # Errors
    /// The range lies outside of the region; it was dropped; its owner is gone.
    #[cold]
    pub fn get_elsewhere(&self, far: &Far, offset: usize, bytes: &mut [u8]) -> Result<(), Error> {
        let (owner, place) = find(far, offset, bytes.len())?;
        let errand = Errand::Get { place, len: bytes.len() as u64 };
        let trip = Trip { into: bytes, ..Trip::new(owner, errand) };
        self.travel(self.enter_to_submit()?, trip, None).map(drop)
    }

    /// Adds to a word that is not here; gives the old value.
    ///
    /// # Errors
    /// As [`Engine::get_elsewhere`]; the word is not aligned.
    #[cold]
    pub fn add_elsewhere(&self, far: &Far, offset: usize, n: u64) -> Result<u64, Error> {
        let (owner, place) = find_word(far, offset)?;
        self.travel(self.enter_to_submit()?, Trip::new(owner, Errand::Add { place, n }), None)
    }

    /// Replaces a word that is not here if it is `expected`; gives the old value.
    ///
    /// # Errors
    /// As [`Engine::add_elsewhere`].
    #[cold]
    pub fn swap_elsewhere(&self, far: &Far, offset: usize, expected: u64, new: u64) -> Result<u64, Error> {
        let (owner, place) = find_word(far, offset)?;
        self.travel(self.enter_to_submit()?, Trip::new(owner, Errand::Swap { place, expected, new }), None)
    }

    /// Writes to a region that is not here. With a notice it is not waited for: a fence does that.
    #[cold]
    pub(crate) fn put_elsewhere(
        &self,
        far: &Far,
        offset: usize,
        bytes: &[u8],
        notice: Option<u64>,
    ) -> Result<(), Error> {
        let (owner, place) = find(far, offset, bytes.len())?;
        let mut core = self.enter_to_submit()?;
        core.proto.traffic.put(bytes.len());
        core.fences[owner.0 as usize].issued += u64::from(notice.is_some());
        let errand = Errand::Put { place, len: bytes.len() as u64, notice };
        self.travel(core, Trip { data: bytes, ..Trip::new(owner, errand) }, None).map(drop)
    }

    /// Shows a notice without data.
    #[cold]
    pub(crate) fn notify_elsewhere(
        &self,
        core: Inside<'_>,
        to: Rank,
        place: Place,
        notice: u64,
    ) -> Result<(), Error> {
        core.check()?;
        self.rouse(&core);
        let errand = Errand::Put { place, len: 0, notice: Some(notice) };
        self.travel(core, Trip::new(to, errand), None).map(drop)
    }

    /// Waits until the puts with a notice, so many, have been done, and says which was not.
    #[cold]
    pub(crate) fn fence_elsewhere(
        &self,
        core: Inside<'_>,
        owner: Rank,
        issued: u64,
        deadline: Option<Instant>,
    ) -> Result<(), Error> {
        let result = self.travel(core, Trip::new(owner, Errand::Fence), deadline).map(drop);
        let answered = matches!(result, Ok(()) | Err(Error::Refused { .. }));
        if !answered {
            return result;
        }
        let mut guard = self.enter()?;
        let core = &mut *guard;
        core.fences[owner.0 as usize].confirm(issued);
        // What an earlier fence did not wait for came first.
        match core.desk.take_refusal(&mut core.proto, &mut core.rails, owner) {
            Some((region, why)) => Err(Error::Refused { owner, region, why }),
            None => result,
        }
    }

    /// Sends an errand, and waits for what becomes of it.
    fn travel(&self, mut core: Inside<'_>, trip: Trip<'_>, deadline: Option<Instant>) -> Result<u64, Error> {
        let Trip { to, errand, data, into, undo } = trip;
        let broken = || Error::Refused { owner: to, region: errand.region(), why: Refusal::Broken };
        let (ticket, form) = (core.desk.take_ticket(), core.proto.form(&errand));
        let (head, len) = errand.head(form);
        let (head, tag) = (&head[..len], errand.tag(form, ticket));
        let whole = form == Form::Whole;
        if !errand.is_answered() && whole {
            let inner = &mut *core;
            let fill = |slot: canele_rail::Window<'_>| {
                slot.write(0, head);
                slot.write(len, data);
            };
            if inner.proto.try_send(&mut inner.rails, to, ERRANDS, tag, len + data.len(), fill) == Sent::Done
            {
                return Ok(0);
            }
        }
        let (mut answer, mut came) = ([0; ANSWER], 0);
        let (with, apart) = if whole { (into, &mut [][..]) } else { (&mut [][..], into) };
        let expected = with.len();
        let sent = buffer::scope(|scope| {
            let want = Want { source: Some(to), tag: Some(Tag(ticket)) };
            let answered = errand
                .is_answered()
                .then(|| core.proto.submit_recv(ANSWERS, want, scope.lend_list_mut(vec![&mut answer, with])));
            let mut parts = Vec::with_capacity(2);
            match whole {
                true => parts.push((ERRANDS, tag, scope.lend_list(&[head, data]))),
                false => {
                    parts.push((ERRANDS, tag, scope.lend(head)));
                    if !data.is_empty() {
                        parts.push((DATA, Tag(ticket), scope.lend(data)));
                    }
                }
            }
            let inner = &mut *core;
            let sends = parts.into_iter().map(|(flow, tag, buffer)| {
                inner.proto.submit_send(&mut inner.rails, to, flow, tag, Mode::Standard, buffer)
            });
            let sends: Vec<_> = sends.collect();
            let mut result = Ok(());
            let mut withdrawn = false;
            for id in sends {
                let (inside, outcome, passed) = self.wait_done(core, id, deadline);
                core = inside;
                withdrawn |= passed;
                if let Buffer::Out(buffer) = outcome.buffer {
                    scope.take_back(buffer);
                }
                result = result.and(outcome.result.map(drop).map_err(Error::from));
            }
            let Some(id) = answered else { return result };
            if withdrawn {
                core.proto.cancel(id);
            }
            let (mut core, outcome, passed) = self.wait_done(core, id, deadline);
            if let Buffer::In(buffer) = outcome.buffer {
                scope.take_back_mut(buffer);
            }
            if passed || withdrawn {
                if passed && !withdrawn {
                    let inner = &mut *core;
                    inner.desk.leave(&mut inner.proto, to, ticket, errand.late(undo));
                }
                return Err(Error::Deadline(format!("{to} to answer")));
            }
            if outcome.result.is_err() {
                core.proto.forget_answer(to, ticket);
            }
            result.and(outcome.result.map(|status| came = status.bytes).map_err(Error::from))
        });
        sent?;
        if !errand.is_answered() {
            return Ok(0);
        }
        let answer = Answer::read(&answer).result;
        // Only what is done comes with data, and with all of it.
        if came != ANSWER + answer.map_or(0, |_| expected) {
            return Err(broken());
        }
        let value = answer.map_err(|(region, why)| Error::Refused { owner: to, region, why })?;
        if !apart.is_empty() {
            let want = Want { source: Some(to), tag: Some(Tag(ticket)) };
            let status = self.recv(ANSWERS, want, apart, None)?;
            if status.bytes != apart.len() {
                return Err(broken());
            }
        }
        Ok(value)
    }
}

/// Where a range of a region lies that is not here.
fn find(far: &Far, offset: usize, len: usize) -> Result<(Rank, Place), Error> {
    let outside = |region: usize| Error::Range { offset, len, region };
    let Elsewhere { owner, region, bytes } = far.place().ok_or_else(|| outside(far.len()))?;
    if offset.checked_add(len).is_none_or(|end| end > bytes) {
        return Err(outside(bytes));
    }
    Ok((owner, Place { region, offset: offset as u64 }))
}

fn find_word(far: &Far, offset: usize) -> Result<(Rank, Place), Error> {
    let region = far.place().map_or(far.len(), |place| place.bytes);
    if !offset.is_multiple_of(8) {
        return Err(Error::Range { offset, len: 8, region });
    }
    find(far, offset, 8)
}

/// What this rank has, for the errands of others.
struct Holdings<'a> {
    rails: &'a mut Rails,
    clerk: Option<&'a dyn Clerk>,
}

impl Estate for Holdings<'_> {
    type Rails = Rails;

    fn rails(&mut self) -> &mut Rails {
        self.rails
    }

    fn len_of(&mut self, region: RegionId) -> Option<usize> {
        self.rails.shm.regions.own(region).map(|region| region.len())
    }

    fn room(&mut self, place: Place, len: usize) -> Option<InBuffer> {
        self.rails.shm.regions.own(place.region)?.in_buffer(usize::try_from(place.offset).ok()?, len)
    }

    fn part(&mut self, place: Place, len: usize) -> Option<OutBuffer> {
        self.rails.shm.regions.own(place.region)?.out_buffer(usize::try_from(place.offset).ok()?, len)
    }

    fn word(&mut self, place: Place) -> Option<&AtomicU64> {
        self.rails.shm.regions.own(place.region)?.word(usize::try_from(place.offset).ok()?)
    }

    fn ask(&mut self, from: Rank, question: [u64; 3], tell: &mut Vec<Tell>) -> u64 {
        self.clerk.map_or(u64::MAX, |clerk| clerk.ask(from, question, tell))
    }

    fn deposit(&mut self, from: Rank, of: [u64; 2], data: Option<Vec<u8>>) {
        if let Some(clerk) = self.clerk {
            clerk.deposit(from, of, data);
        }
    }
}

impl Core {
    /// Does what ranks of other hosts ask for; says whether anything was done.
    pub fn serve(&mut self) -> bool {
        let mut estate = Holdings { rails: &mut self.rails, clerk: self.clerk.as_deref() };
        self.desk.serve(&mut self.proto, &mut estate)
    }
}
