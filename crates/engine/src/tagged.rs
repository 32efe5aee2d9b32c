//! Blocking tagged messages: the short path first, the general path behind it.

use std::time::Instant;

use canele_proto::matching::Want;
use canele_proto::request::{Buffer, Mode, Outcome};
use canele_proto::{Received, Sent};
use canele_rail::{MAX_INLINE, Window};
use canele_sys::buffer::{self, InBuffer, OutBuffer};
use canele_sys::ids::{FlowId, Rank, Tag};
use canele_sys::relax;

use crate::core::Core;
use crate::engine::{Engine, Inside};
use crate::{Error, Status};

/// Looks at one link before a receive is posted, while every rank has a processor.
pub(crate) const LOOKS: u32 = 2048;
/// Looks at that link between two passes over everything.
pub(crate) const LOOKS_PER_PASS: u32 = 64;

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
        let mut guard = self.enter()?;
        let core = &mut *guard;
        if bytes.len() <= MAX_INLINE
            && mode != Mode::Synchronous
            && core.proto.try_send_short(&mut core.rails, to, flow, tag, bytes) == Sent::Done
        {
            return Ok(());
        }
        self.send_otherwise(guard, to, flow, tag, mode, bytes, deadline).map_err(|error| *error)
    }

    /// A blocking send that is not short, or cannot go at once. Its error comes boxed, so that the result of the short
    /// path stays in registers: each store that is spared there shortens the queue in which the next cells wait.
    #[inline(never)]
    #[allow(clippy::too_many_arguments)] // The parts of a message, as the standard names them.
    fn send_otherwise(
        &self,
        mut guard: Inside<'_>,
        to: Rank,
        flow: FlowId,
        tag: Tag,
        mode: Mode,
        bytes: &[u8],
        deadline: Option<Instant>,
    ) -> Result<(), Box<Error>> {
        let core = &mut *guard;
        if mode != Mode::Synchronous
            && core.proto.try_send_bytes(&mut core.rails, to, flow, tag, bytes) == Sent::Done
        {
            return Ok(());
        }
        buffer::scope(|scope| {
            let buffer = scope.lend(bytes);
            let (result, buffer) = self.send_buffer(guard, to, flow, tag, mode, buffer, deadline);
            scope.take_back(buffer);
            result.map_err(Box::new)
        })
    }

    /// Sends a message of `len` bytes that `fill` writes in place.
    ///
    /// # Errors
    /// As [`Engine::send`].
    pub fn send_with(
        &self,
        to: Rank,
        flow: FlowId,
        tag: Tag,
        len: usize,
        fill: impl FnOnce(Window<'_>),
    ) -> Result<(), Error> {
        let mut guard = self.enter()?;
        let core = &mut *guard;
        let mut fill = Some(fill);
        let filled = |slot: Window<'_>| fill.take().into_iter().for_each(|f| f(slot));
        if core.proto.try_send(&mut core.rails, to, flow, tag, len, filled) == Sent::Done {
            return Ok(());
        }
        drop(guard);
        let mut bytes = vec![0; len];
        if let Some(fill) = fill {
            canele_rail::on_slice(&mut bytes, fill);
        }
        self.send(to, flow, tag, Mode::Standard, &bytes, None)
    }

    /// The general path of a blocking send. The buffer comes back whatever happens.
    #[cold]
    #[inline(never)]
    #[allow(clippy::too_many_arguments)] // The parts of a message, as the standard names them.
    fn send_buffer(
        &self,
        mut core: Inside<'_>,
        to: Rank,
        flow: FlowId,
        tag: Tag,
        mode: Mode,
        buffer: OutBuffer,
        deadline: Option<Instant>,
    ) -> (Result<(), Error>, OutBuffer) {
        if let Err(error) = self.check_rank(to).and_then(|()| core.check()) {
            return (Err(error), buffer);
        }
        self.rouse(&core);
        let inner = &mut *core;
        let id = inner.proto.submit_send(&mut inner.rails, to, flow, tag, mode, buffer);
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
        let mut guard = self.enter()?;
        match look(&mut guard, flow, want, bytes) {
            Received::Done(status) => Ok(status),
            seen => self.recv_otherwise(guard, flow, want, bytes, deadline, seen),
        }
    }

    /// A blocking receive whose message was not there at the first look.
    #[inline(never)]
    fn recv_otherwise(
        &self,
        mut guard: Inside<'_>,
        flow: FlowId,
        want: Want,
        bytes: &mut [u8],
        deadline: Option<Instant>,
        seen: Received<Status>,
    ) -> Result<Status, Error> {
        if seen == Received::Nothing
            && !guard.habits.crowded
            && let Some(status) = watch(&mut guard, flow, want, bytes)
        {
            return Ok(status);
        }
        self.recv_posted(guard, flow, want, bytes, deadline)
    }

    /// A blocking receive whose message did not come at once where it was looked for.
    #[cold]
    #[inline(never)]
    fn recv_posted(
        &self,
        guard: Inside<'_>,
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

    /// Receives a message that a matched probe took.
    ///
    /// # Errors
    /// It is longer than `bytes`; the sender died.
    pub fn recv_matched(&self, matched: canele_proto::Matched, bytes: &mut [u8]) -> Result<Status, Error> {
        let mut core = self.enter()?;
        self.rouse(&core);
        buffer::scope(|scope| {
            let id = core.proto.submit_recv_matched(matched, scope.lend_mut(bytes));
            let (_core, outcome, _) = self.wait_done(core, id, None);
            if let Buffer::In(buffer) = outcome.buffer {
                scope.take_back_mut(buffer);
            }
            outcome.result.map_err(Error::from)
        })
    }

    /// The general path of a blocking receive. The buffer comes back whatever happens.
    #[cold]
    #[inline(never)]
    fn recv_buffer(
        &self,
        mut core: Inside<'_>,
        flow: FlowId,
        want: Want,
        buffer: InBuffer,
        deadline: Option<Instant>,
    ) -> (Result<Status, Error>, InBuffer) {
        if let Err(error) = self.check_source(want).and_then(|()| core.check()) {
            return (Err(error), buffer);
        }
        self.rouse(&core);
        let id = core.proto.submit_recv(flow, want, buffer);
        let (_core, outcome, passed) = self.wait_done(core, id, deadline);
        match outcome {
            Outcome { buffer: Buffer::In(buffer), .. } if passed => {
                (Err(Error::Deadline(describe(want))), buffer)
            }
            Outcome { result, buffer: Buffer::In(buffer) } => (result.map_err(Error::from), buffer),
            _ => unreachable!("a receive gives its buffer back"),
        }
    }

    /// Wakes the thread that sleeps in the rail, because something was submitted that may concern it.
    pub(crate) fn rouse(&self, core: &Core) {
        if core.asleep {
            self.alarm.ring();
        }
    }
}

/// Looks once for a message from a known rank with a known tag where it will come, without posting a receive.
#[inline(always)]
fn look(core: &mut Core, flow: FlowId, want: Want, bytes: &mut [u8]) -> Received<Status> {
    let (Some(source), Some(tag)) = (want.source, want.tag) else { return Received::NotHere };
    core.look(flow, source, tag, bytes).map(|bytes| Status { source, tag, bytes })
}

impl Core {
    /// The same; gives the length.
    #[inline(always)]
    pub(crate) fn look(&mut self, flow: FlowId, source: Rank, tag: Tag, bytes: &mut [u8]) -> Received {
        if !self.proto.is_quiet(flow) || self.finished {
            return Received::NotHere;
        }
        self.proto.try_recv_from(&mut self.rails, source, flow, tag, bytes)
    }
}

/// Looks a while, and makes a pass over everything now and then.
#[inline]
fn watch(guard: &mut Inside<'_>, flow: FlowId, want: Want, bytes: &mut [u8]) -> Option<Status> {
    for n in 1..=LOOKS {
        relax::between_looks();
        match look(guard, flow, want, bytes) {
            Received::Done(status) => return Some(status),
            Received::Nothing => {}
            Received::NotHere => return None,
        }
        if n.is_multiple_of(LOOKS_PER_PASS) {
            guard.pass();
            if guard.contended() {
                return None;
            }
        }
    }
    None
}

/// What a receive waits for, in words.
pub(crate) fn describe(want: Want) -> String {
    let source = want.source.map_or("any rank".to_owned(), |rank| rank.to_string());
    let tag = want.tag.map_or("any tag".to_owned(), |tag| tag.to_string());
    format!("a message from {source} with {tag}")
}
