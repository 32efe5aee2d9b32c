//! Blocking tagged messages: the short path first, then the general path.

use canele_mem::window::Window;
use std::time::Instant;

use canele_mem::buffer::{self, InBuffer, OutBuffer};
use canele_proto::matching::Want;
use canele_proto::request::{Buffer, Mode, Outcome};
use canele_proto::{Envelope, Filled, Received, Room, Sent};
use canele_rail::MAX_INLINE;
use canele_sys::ids::{FlowId, Rank, Tag};

use crate::core::Core;
use crate::engine::{Engine, Locked};
use crate::lane::Lane;
use crate::lane::spin::spin;
use crate::{Error, Status};

impl Engine {
    /// Sends a message; its memory may be used again on return.
    ///
    /// # Errors
    /// The receiver does not exist or is gone, the deadline passed, the launcher is gone.
    #[inline(always)]
    pub fn send(
        &self,
        to: Rank,
        flow: FlowId,
        tag: Tag,
        mode: Mode,
        bytes: &[u8],
        deadline: Option<Instant>,
    ) -> Result<(), Error> {
        let mut guard = self.lock()?;
        let Lane { proto, rails, .. } = &mut guard.lane;
        // Made when it is needed, so that the short path stores nothing of it.
        let envelope = || Envelope { mode, ..Envelope::new(to, flow, tag) };
        if bytes.len() > MAX_INLINE {
            if proto.post_otherwise(rails, envelope(), bytes) == Sent::Done {
                return Ok(());
            }
            return self.send_lent(guard, envelope(), bytes, deadline).map_err(|error| *error);
        }
        if proto.post_in_cell(rails, (to, flow, tag), mode, bytes) {
            return Ok(());
        }
        self.send_otherwise(guard, envelope(), bytes, deadline).map_err(|error| *error)
    }

    /// Sends a message in standard mode that [`Engine::try_send_short`] or [`Engine::send_next`] has left;
    /// tries no cell again.
    ///
    /// # Errors
    /// Those of [`Engine::send`].
    pub fn send_refused(&self, to: Rank, flow: FlowId, tag: Tag, bytes: &[u8]) -> Result<(), Error> {
        let envelope = Envelope::new(to, flow, tag);
        self.send_otherwise(self.lock()?, envelope, bytes, None).map_err(|error| *error)
    }

    /// Sends a message of few bytes, blocking, that no cell took at once. Its error comes boxed, so that the
    /// result of the short path stays in registers. Fewer stores shorten the queue in which the next cells
    /// wait.
    #[inline(never)]
    fn send_otherwise(
        &self,
        mut guard: Locked<'_>,
        envelope: Envelope,
        bytes: &[u8],
        deadline: Option<Instant>,
    ) -> Result<(), Box<Error>> {
        let Lane { proto, rails, .. } = &mut guard.lane;
        if proto.post_otherwise(rails, envelope, bytes) == Sent::Done {
            return Ok(());
        }
        self.send_lent(guard, envelope, bytes, deadline)
    }

    /// Sends a message that has to wait, blocking: its memory is lent to a request.
    #[inline(never)]
    fn send_lent(
        &self,
        guard: Locked<'_>,
        envelope: Envelope,
        bytes: &[u8],
        deadline: Option<Instant>,
    ) -> Result<(), Box<Error>> {
        buffer::scope(|scope| {
            let buffer = scope.lend(bytes);
            let (result, buffer) = self.send_buffer(guard, envelope, buffer, deadline);
            scope.take_back(buffer);
            result.map_err(Box::new)
        })
    }

    /// Sends a message of `len` bytes that `fill` writes in place.
    ///
    /// # Errors
    /// Those of [`Engine::send`].
    pub fn send_with(
        &self,
        to: Rank,
        flow: FlowId,
        tag: Tag,
        len: usize,
        fill: impl FnOnce(Window<'_>),
    ) -> Result<(), Error> {
        let mut guard = self.lock()?;
        let mut fill = Some(fill);
        let filled = Filled { len, fill: |slot: Window<'_>| fill.take().into_iter().for_each(|f| f(slot)) };
        let envelope = Envelope::new(to, flow, tag);
        if guard.lane.post(envelope, filled) == Sent::Done {
            return Ok(());
        }
        let mut bytes = vec![0; len];
        if let Some(fill) = fill {
            canele_rail::on_slice(&mut bytes, fill);
        }
        self.send_lent(guard, envelope, &bytes, None).map_err(|error| *error)
    }

    /// Sends a message by the general path, blocking. The buffer comes back in any case.
    fn send_buffer(
        &self,
        mut core: Locked<'_>,
        envelope: Envelope,
        buffer: OutBuffer,
        deadline: Option<Instant>,
    ) -> (Result<(), Error>, OutBuffer) {
        if let Err(error) = core.check_rank(envelope.to).and_then(|()| core.check()) {
            return (Err(error), buffer);
        }
        self.wake_progress_owner(&core);
        let Envelope { to, tag, .. } = envelope;
        let id = core.lane.submit_send(envelope, buffer);
        let (_core, outcome, passed) = self.wait_done(core, id, deadline);
        match outcome {
            Outcome { buffer: Buffer::Out(buffer), .. } if passed => {
                (Err(Error::Deadline(format!("{to} to receive a message with {tag}"))), buffer)
            }
            Outcome { result, buffer: Buffer::Out(buffer) } => {
                (result.map(drop).map_err(Error::from), buffer)
            }
            _ => unreachable!("a send gives its buffer back"),
        }
    }

    /// Receives a message into `bytes`.
    ///
    /// # Errors
    /// The message is longer than `bytes`, the sender does not exist or is gone, the deadline passed.
    #[inline(always)]
    pub fn recv(
        &self,
        flow: FlowId,
        want: Want,
        bytes: &mut [u8],
        deadline: Option<Instant>,
    ) -> Result<Status, Error> {
        let mut guard = self.lock()?;
        match guard.lane.try_recv_or_post(flow, want, bytes) {
            Received::Done(status) => Ok(status),
            seen => self.recv_otherwise(guard, flow, want, bytes, deadline, seen == Received::Nothing),
        }
    }

    /// Receives a message that was not there at the first look, blocking; `may_come` is true if nothing
    /// prevents it from coming on its link.
    #[inline(never)]
    fn recv_otherwise(
        &self,
        mut guard: Locked<'_>,
        flow: FlowId,
        want: Want,
        bytes: &mut [u8],
        deadline: Option<Instant>,
        may_come: bool,
    ) -> Result<Status, Error> {
        // A call with a deadline yields only when it looks at the clock.
        let spins = deadline.is_none() || !guard.lane.wait_policy.is_oversubscribed();
        if may_come
            && spins
            && let Received::Done(status) =
                spin(&mut guard, want.source, |core| core.lane.try_recv_or_post(flow, want, bytes))
        {
            return Ok(status);
        }
        self.recv_posted(guard, flow, want, bytes, deadline)
    }

    /// Receives a message that did not come soon on its link, blocking.
    #[cold]
    #[inline(never)]
    fn recv_posted(
        &self,
        guard: Locked<'_>,
        flow: FlowId,
        want: Want,
        bytes: &mut [u8],
        deadline: Option<Instant>,
    ) -> Result<Status, Error> {
        buffer::scope(|scope| {
            let buffer = scope.lend_mut(bytes);
            let (result, buffer) = self.recv_buffer(guard, flow, want, buffer, deadline);
            scope.take_back_mut(buffer);
            result
        })
    }

    /// Looks a while for a message on its link, without posting a receive. Returns `None` if none came or it
    /// needs the general path.
    ///
    /// # Errors
    /// `Forked`.
    #[inline(always)]
    pub fn try_recv(
        &self,
        flow: FlowId,
        want: Want,
        into: &mut (impl Room + ?Sized),
    ) -> Result<Option<Status>, Error> {
        let mut guard = self.lock()?;
        if want.source.is_none() && guard.lane.proto.has_unreported_death(flow) {
            return Ok(None);
        }
        let mut look = |core: &mut Core| core.lane.try_recv(flow, want, into);
        let seen = match look(&mut guard) {
            Received::Nothing => spin(&mut guard, want.source, look),
            seen => seen,
        };
        Ok(if let Received::Done(status) = seen { Some(status) } else { None })
    }

    /// Receives a message that a matched probe took.
    ///
    /// # Errors
    /// It is longer than `bytes`; the sender died.
    pub fn recv_matched(&self, matched: canele_proto::Matched, bytes: &mut [u8]) -> Result<Status, Error> {
        let mut core = self.lock()?;
        self.wake_progress_owner(&core);
        buffer::scope(|scope| {
            let id = core.lane.submit_recv_matched(matched, scope.lend_mut(bytes));
            let (_core, outcome, _) = self.wait_done(core, id, None);
            if let Buffer::In(buffer) = outcome.buffer {
                scope.take_back_mut(buffer);
            }
            outcome.result.map_err(Error::from)
        })
    }

    /// Drops a message that a matched probe took: its sender goes on as if it was received.
    ///
    /// # Errors
    /// In a forked child.
    pub fn discard_matched(&self, matched: canele_proto::Matched) -> Result<(), Error> {
        self.lock_to_submit()?.lane.proto.discard(matched);
        Ok(())
    }

    /// Receives a message by the general path, blocking. The buffer comes back in any case.
    #[cold]
    #[inline(never)]
    fn recv_buffer(
        &self,
        mut core: Locked<'_>,
        flow: FlowId,
        want: Want,
        buffer: InBuffer,
        deadline: Option<Instant>,
    ) -> (Result<Status, Error>, InBuffer) {
        if let Err(error) = core.check_source(want).and_then(|()| core.check()) {
            return (Err(error), buffer);
        }
        self.wake_progress_owner(&core);
        let id = core.lane.submit_recv(flow, want, buffer);
        let (_core, outcome, passed) = self.wait_done(core, id, deadline);
        match outcome {
            Outcome { buffer: Buffer::In(buffer), .. } if passed => {
                (Err(Error::Deadline(describe(want))), buffer)
            }
            Outcome { result, buffer: Buffer::In(buffer) } => (result.map_err(Error::from), buffer),
            _ => unreachable!("a receive gives its buffer back"),
        }
    }
}

impl Lane {
    /// Does `try_recv` for a receive that can be posted: one from any source gets unreported deaths first.
    #[inline(always)]
    pub(crate) fn try_recv_or_post(&mut self, flow: FlowId, want: Want, into: &mut [u8]) -> Received {
        if want.source.is_none() && self.proto.has_unreported_death(flow) {
            return Received::NotHere;
        }
        self.try_recv(flow, want, into)
    }

    /// Takes a message that `want` accepts straight from its link, without posting a receive.
    #[inline(always)]
    pub(crate) fn try_recv(&mut self, flow: FlowId, want: Want, into: &mut (impl Room + ?Sized)) -> Received {
        if !self.proto.is_quiet(flow) || self.is_closed {
            return Received::NotHere;
        }
        self.proto.try_recv(&mut self.rails, flow, want, into)
    }
}

/// Describes in words the message that a receive waits for.
pub(crate) fn describe(want: Want) -> String {
    let source = want.source.map_or("any rank".to_owned(), |rank| rank.to_string());
    let tag = want.tag.map_or("any tag".to_owned(), |tag| tag.to_string());
    format!("a message from {source} with {tag}")
}
