//! Non-blocking operations: submitted here, waited for in any number and order.

use std::time::Instant;

use canele_proto::matching::Want;
use canele_proto::request::{Buffer, Cancel, Mode, Outcome};
use canele_proto::slab::Key;
use canele_proto::{Matched, Sent, Ticket};
use canele_rail::MAX_INLINE;
use canele_sys::buffer::{Divided, InBuffer, OutBuffer};
use canele_sys::ids::{FlowId, Rank, RequestId, Tag};

use crate::anybody::or_nobody;
use crate::core::Core;
use crate::engine::Engine;
use crate::wait::Unmet;
use crate::{Error, Status};

/// A non-blocking operation under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pending(pub(crate) Under);

/// What stands for it in the protocols.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Under {
    Request(RequestId),
    /// A short send that was gathered.
    Gathered(Ticket),
    Collective(Key),
}

impl From<RequestId> for Pending {
    fn from(request: RequestId) -> Self {
        Self(Under::Request(request))
    }
}

impl Pending {
    pub(crate) fn collective(key: Key) -> Self {
        Self(Under::Collective(key))
    }

    /// Whether nothing of its caller's is lent to it: then nobody need wait for its end.
    pub fn is_free(self) -> bool {
        matches!(self.0, Under::Gathered(_))
    }

    /// A receive from anybody that has no message yet.
    fn is_from_anybody(self, core: &Core) -> bool {
        matches!(self.0, Under::Request(id) if core.proto.is_from_anybody(id))
    }

    /// Ends it, if it is such a receive; says whether it was.
    fn give_up(self, core: &mut Core) -> bool {
        matches!(self.0, Under::Request(id) if core.proto.give_up(id))
    }

    /// Whether it has ended.
    fn has_ended(self, core: &Core) -> bool {
        match self.0 {
            Under::Request(id) => core.proto.is_done(id),
            Under::Gathered(ticket) => core.proto.take_gathered(ticket).is_some(),
            Under::Collective(_) => true,
        }
    }

    /// How it has ended; nothing while it is under way.
    pub(crate) fn take(self, core: &mut Core) -> Option<Ended> {
        let outcome = match self.0 {
            Under::Request(id) => core.proto.take(id),
            Under::Gathered(ticket) => core.proto.take_gathered(ticket),
            Under::Collective(key) => return core.take_collective(key),
        };
        outcome.map(Ended::from)
    }
}

/// What became of a send that needs no memory of its caller's any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Started {
    /// It is on its way.
    Left,
    /// It leaves as soon as it can.
    Waits(Pending),
    /// Nothing: the message must be lent.
    NotHere,
}

/// Why an operation was not started, with the buffer that was lent to it.
pub type Refused<B> = Box<(Error, B)>;

/// How a non-blocking operation ended, with the buffer that was lent to it.
pub struct Ended {
    /// What happened.
    pub result: Result<Status, Error>,
    /// The memory.
    pub buffer: Buffer,
    /// The output of a collective, if it is the library's own memory.
    pub output: Option<Box<Divided>>,
}

impl Ended {
    /// The flow that an agreement ended with.
    pub fn flow(&self) -> Option<FlowId> {
        let bytes = self.output.as_ref().filter(|_| self.result.is_ok())?.bytes();
        Some(FlowId(u32::from_ne_bytes(bytes.try_into().ok()?)))
    }
}

#[cold]
#[inline(never)]
fn refuse<B>(error: Error, buffer: B) -> Refused<B> {
    Box::new((error, buffer))
}

impl From<Outcome> for Ended {
    fn from(outcome: Outcome) -> Self {
        Self { result: outcome.result.map_err(Error::from), buffer: outcome.buffer, output: None }
    }
}

#[allow(clippy::result_large_err)] // The buffer comes back with the error, which is rare and far from the short path.
impl Engine {
    /// Sends at once what is short and can go at once; says whether it did.
    #[inline(always)]
    pub fn send_now(&self, to: Rank, flow: FlowId, tag: Tag, bytes: &[u8]) -> bool {
        let Ok(mut guard) = self.enter() else { return false };
        let core = &mut *guard;
        bytes.len() <= MAX_INLINE
            && core.proto.try_send_short(&mut core.rails, to, flow, tag, bytes) == Sent::Done
    }

    /// Sends at once what can go at once; says whether it did. Takes nothing that has come.
    ///
    /// # Errors
    /// The job was finished, or this is a forked child.
    pub fn send_at_once(&self, to: Rank, flow: FlowId, tag: Tag, bytes: &[u8]) -> Result<bool, Error> {
        let mut guard = self.enter()?;
        let core = &mut *guard;
        Ok(core.proto.try_send_bytes(&mut core.rails, to, flow, tag, bytes) == Sent::Done)
    }

    /// Sends at once what can go at once, or with the next packet, without a request.
    ///
    /// # Errors
    /// The job was finished, or this is a forked child.
    #[inline(never)]
    pub fn try_send_now(&self, to: Rank, flow: FlowId, tag: Tag, bytes: &[u8]) -> Result<Started, Error> {
        let mut guard = self.enter()?;
        let core = &mut *guard;
        if core.proto.try_send_bytes(&mut core.rails, to, flow, tag, bytes) == Sent::Done {
            return Ok(Started::Left);
        }
        let Some(ticket) = core.proto.try_gather(to, flow, tag, bytes) else { return Ok(Started::NotHere) };
        self.rouse(core);
        Ok(Started::Waits(Pending(Under::Gathered(ticket))))
    }

    /// Starts a send.
    ///
    /// # Errors
    /// No such rank, or the job is over; the buffer comes back.
    pub fn isend(
        &self,
        to: Rank,
        flow: FlowId,
        tag: Tag,
        mode: Mode,
        buffer: OutBuffer,
    ) -> Result<Pending, Refused<OutBuffer>> {
        let mut core = match self.check_rank(to).and_then(|()| self.enter_to_submit()) {
            Ok(core) => core,
            Err(error) => return Err(Box::new((error, buffer))),
        };
        let core = &mut *core;
        Ok(core.proto.submit_send(&mut core.rails, to, flow, tag, mode, buffer).into())
    }

    /// Starts a receive.
    ///
    /// # Errors
    /// No such rank, or the job is over; the buffer comes back.
    #[inline(always)]
    pub fn irecv(&self, flow: FlowId, want: Want, buffer: InBuffer) -> Result<Pending, Refused<InBuffer>> {
        match self.check_source(want).and_then(|()| self.enter_to_submit()) {
            Ok(mut core) => Ok(core.proto.submit_recv(flow, want, buffer).into()),
            Err(error) => Err(refuse(error, buffer)),
        }
    }

    /// Starts the receive of a message that a matched probe took.
    ///
    /// # Errors
    /// The job is over; the buffer comes back.
    pub fn irecv_matched(&self, matched: Matched, buffer: InBuffer) -> Result<Pending, Refused<InBuffer>> {
        match self.enter_to_submit() {
            Ok(mut core) => Ok(core.proto.submit_recv_matched(matched, buffer).into()),
            Err(error) => Err(Box::new((error, buffer))),
        }
    }

    /// Makes progress once and takes the outcome, if the operation has ended.
    ///
    /// # Errors
    /// `Forked`.
    pub fn test(&self, pending: Pending) -> Result<Option<Ended>, Error> {
        let mut core = self.enter()?;
        let ended = pending.take(&mut core).or_else(|| {
            core.pass();
            pending.take(&mut core)
        });
        Ok(ended)
    }

    /// Makes progress once.
    ///
    /// # Errors
    /// `Forked`.
    pub fn poll(&self) -> Result<bool, Error> {
        Ok(self.enter()?.pass())
    }

    /// Waits for the end of an operation. After a deadline it is still under way.
    ///
    /// # Errors
    /// `Deadline`, `Forked`.
    pub fn wait(&self, pending: Pending, deadline: Option<Instant>) -> Result<Ended, Error> {
        if let Some(ended) = pending.take(&mut *self.enter()?) {
            return Ok(ended);
        }
        let (_, ended) = self.wait_any(&[pending], deadline)?;
        Ok(ended)
    }

    /// Waits until an operation has ended, whose end is still to be taken. Says whether it has: nobody waits here for a receive
    /// from anybody.
    ///
    /// # Errors
    /// `Forked`.
    pub fn await_end(&self, pending: Pending) -> Result<bool, Error> {
        let core = self.enter()?;
        self.rouse(&core);
        if pending.is_from_anybody(&core) {
            return Ok(false);
        }
        let ended = |core: &mut Core| pending.has_ended(core).then_some(());
        Ok(self.wait_for(core, None, ended).is_ok())
    }

    /// Waits for the end of any of several operations: its number in the list, and how it ended.
    ///
    /// # Errors
    /// `Deadline`, `Forked`.
    pub fn wait_any(&self, list: &[Pending], deadline: Option<Instant>) -> Result<(usize, Ended), Error> {
        let core = self.enter()?;
        self.rouse(&core);
        let ready = |core: &mut Core| {
            list.iter().enumerate().find_map(|(at, pending)| Some((at, pending.take(core)?)))
        };
        let any_source = list.iter().any(|pending| pending.is_from_anybody(&core));
        let waited = if deadline.is_none() && any_source {
            self.wait_for_anybody(core, ready).and_then(|(mut core, found)| match found {
                Some(found) => Ok((core, found)),
                None => {
                    let _ = list.iter().any(|pending| pending.give_up(&mut core));
                    self.wait_for(core, None, ready)
                }
            })
        } else {
            self.wait_for(core, deadline, ready)
        };
        match waited {
            Ok((_core, found)) => Ok(found),
            Err((_core, Unmet::Deadline)) => Err(Error::Deadline(format!("{} operations", list.len()))),
            Err((_core, Unmet::Error(error))) => Err(error),
        }
    }

    /// Withdraws an operation if it is not too late; says whether it has. A long send whose receiver knows of it is asked back:
    /// its end tells whether it was withdrawn. Every end must still be waited for.
    ///
    /// # Errors
    /// `Forked`.
    pub fn cancel(&self, pending: Pending) -> Result<bool, Error> {
        let mut core = self.enter_to_submit()?;
        Ok(matches!(pending.0, Under::Request(id) if core.proto.cancel(id) == Cancel::Done))
    }

    /// Withdraws an operation unless another rank knows of it; says whether it has. Its end must still be waited for.
    ///
    /// # Errors
    /// `Forked`.
    pub fn cancel_here(&self, pending: Pending) -> Result<bool, Error> {
        let mut core = self.enter_to_submit()?;
        Ok(matches!(pending.0, Under::Request(id) if core.proto.cancel_here(id)))
    }

    /// What a receive would get now, after one pass.
    ///
    /// # Errors
    /// No such rank, or the job is over.
    pub fn iprobe(&self, flow: FlowId, want: Want) -> Result<Option<Status>, Error> {
        self.check_source(want)?;
        let mut core = self.enter_to_submit()?;
        core.pass();
        Ok(core.proto.probe(flow, want))
    }

    /// Waits until a receive would get something.
    ///
    /// # Errors
    /// The named rank, or every other one, is gone; the deadline passed.
    pub fn probe(&self, flow: FlowId, want: Want, deadline: Option<Instant>) -> Result<Status, Error> {
        self.probe_with(want, deadline, |core| core.proto.probe(flow, want))
    }

    /// The same, and takes the message out of matching.
    ///
    /// # Errors
    /// As [`Engine::probe`].
    pub fn mprobe(&self, flow: FlowId, want: Want, deadline: Option<Instant>) -> Result<Matched, Error> {
        self.probe_with(want, deadline, |core| core.proto.probe_matched(flow, want))
    }

    /// Takes a message out of matching, if there is one, after one pass.
    ///
    /// # Errors
    /// No such rank, or the job is over.
    pub fn improbe(&self, flow: FlowId, want: Want) -> Result<Option<Matched>, Error> {
        self.check_source(want)?;
        let mut core = self.enter_to_submit()?;
        core.pass();
        Ok(core.proto.probe_matched(flow, want))
    }

    fn probe_with<T>(
        &self,
        want: Want,
        deadline: Option<Instant>,
        mut look: impl FnMut(&mut Core) -> Option<T>,
    ) -> Result<T, Error> {
        self.check_source(want)?;
        let core = self.enter_to_submit()?;
        let ready = |core: &mut Core| match (look(core), want.source) {
            (Some(found), _) => Some(Ok(found)),
            (None, Some(source)) => core.proto.why_gone(source).map(|failure| Err(failure.into())),
            (None, None) => None,
        };
        if want.source.is_none() && deadline.is_none() {
            return or_nobody(self.wait_for_anybody(core, ready));
        }
        match self.wait_for(core, deadline, ready) {
            Ok((_core, found)) => found,
            Err((_core, Unmet::Deadline)) => Err(Error::Deadline(crate::tagged::describe(want))),
            Err((_core, Unmet::Error(error))) => Err(error),
        }
    }
}
