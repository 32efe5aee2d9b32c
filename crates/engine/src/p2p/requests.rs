//! Non-blocking operations: submitted here, waited for in any number and order.

use std::task::Waker;
use std::time::Instant;

use canele_mem::buffer::{InBuffer, OutBuffer};
use canele_proto::matching::Want;
use canele_proto::request::{Cancel, Mode, PointToPoint};
use canele_proto::{Envelope, Matched, Sent};
use canele_sys::ids::{FlowId, Rank, Tag};

use super::pending::{Completion, NotStarted, Pending, PendingKind, Started};
use crate::Error;
use crate::core::Core;
use crate::engine::{Engine, Locked};
use crate::lane::Lane;
use crate::lane::awaited::Awaited;
use crate::lanes::LaneSet;

#[cold]
#[inline(never)]
fn forked() -> Box<Error> {
    Box::new(Error::Forked)
}

#[cold]
#[inline(never)]
fn refuse<B>(error: Error, buffer: B) -> NotStarted<B> {
    Box::new((error, buffer))
}

#[allow(clippy::result_large_err)] // The buffer comes back with the error, which is rare and far from the short path.
impl Engine {
    /// Waits until no send of this rank on a flow is under way.
    ///
    /// # Errors
    /// `Forked`; the job is over.
    pub fn wait_for_sends(&self, flow: FlowId) -> Result<(), Error> {
        let core = self.lock_to_submit()?;
        let ready = |core: &mut Core| match core.check() {
            Ok(()) => (!core.lane.proto.is_sending_on(flow)).then_some(Ok(())),
            Err(error) => Some(Err(error)),
        };
        self.wait_for(core, Awaited::Other("earlier sends to be received", None), ready).1
    }

    /// Sends a message that can go at once or, if its envelope allows, with the next packet, without a
    /// request. Its memory may be used again on return. Receives no packets.
    ///
    /// # Errors
    /// This is a forked child. The error comes boxed, so that the result of the short path is copied in
    /// registers.
    #[inline(always)]
    pub fn post(&self, envelope: Envelope, bytes: &[u8]) -> Result<Started, Box<Error>> {
        let Ok(mut guard) = self.lock() else { return Err(forked()) };
        match guard.lane.post(envelope, bytes) {
            // This result is not merged with the others: they would be copied, padding included, through
            // memory.
            Sent::Done => {
                drop(guard);
                Ok(Started::Done)
            }
            sent => Ok(self.posted(guard, sent)),
        }
    }

    /// Posts a message of few bytes that [`Engine::try_send_short`] has left, as [`Engine::post`] does: no
    /// cell is tried again.
    ///
    /// # Errors
    /// Those of [`Engine::post`].
    pub fn post_refused(&self, envelope: Envelope, bytes: &[u8]) -> Result<Started, Box<Error>> {
        let Ok(mut guard) = self.lock() else { return Err(forked()) };
        let Lane { proto, rails, .. } = &mut guard.lane;
        let sent = proto.post_otherwise(rails, envelope, bytes);
        Ok(self.posted(guard, sent))
    }

    /// Returns the result of a message that has not left.
    #[inline(never)]
    fn posted(&self, guard: Locked<'_>, sent: Sent) -> Started {
        match sent {
            Sent::Done => Started::Done,
            Sent::Posted(send) => {
                self.wake_progress_owner(&guard);
                Started::Posted(Pending::new(PendingKind::Coalesced(send)).on_lane(self.lane_number()))
            }
            Sent::Busy => Started::Busy,
        }
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
    ) -> Result<Pending, NotStarted<OutBuffer>> {
        let mut core = match self.check_rank(to).and_then(|()| self.lock_to_submit()) {
            Ok(core) => core,
            Err(error) => return Err(Box::new((error, buffer))),
        };
        let id = core.lane.submit_send(Envelope { mode, ..Envelope::new(to, flow, tag) }, buffer);
        Ok(Pending::from(id).on_lane(self.lane_number()))
    }

    /// Starts a receive.
    ///
    /// # Errors
    /// No such rank, or the job is over; the buffer comes back.
    #[inline(always)]
    pub fn irecv(&self, flow: FlowId, want: Want, buffer: InBuffer) -> Result<Pending, NotStarted<InBuffer>> {
        match self.check_source(want).and_then(|()| self.lock_to_submit()) {
            Ok(mut core) => {
                let id = core.lane.submit_recv(flow, want, buffer);
                Ok(Pending::from(id).on_lane(self.lane_number()))
            }
            Err(error) => Err(refuse(error, buffer)),
        }
    }

    /// Starts the receive of a message that a matched probe took.
    ///
    /// # Errors
    /// The job is over; the buffer comes back.
    pub fn irecv_matched(&self, matched: Matched, buffer: InBuffer) -> Result<Pending, NotStarted<InBuffer>> {
        match self.lock_to_submit() {
            Ok(mut core) => {
                let id = core.lane.submit_recv_matched(matched, buffer);
                Ok(Pending::from(id).on_lane(self.lane_number()))
            }
            Err(error) => Err(Box::new((error, buffer))),
        }
    }

    /// Describes an operation, as far as the protocols know it. Returns `None` for a collective or an access
    /// to memory of another rank, and for a send whose memory was free again after the call.
    ///
    /// # Errors
    /// `Forked`.
    pub fn describe(&self, pending: Pending) -> Result<Option<PointToPoint>, Error> {
        let core = self.lane_of(pending).lock()?;
        Ok(pending.request().and_then(|id| core.lane.proto.describe(id)))
    }

    /// Makes progress once and takes the outcome, if the operation has ended.
    ///
    /// # Errors
    /// `Forked`.
    pub fn test(&self, pending: Pending) -> Result<Option<Completion>, Error> {
        let lane = self.lane_of(pending);
        let mut core = lane.lock()?;
        if let Some(ended) = pending.take(&mut core) {
            return Ok(Some(ended));
        }
        let (mut core, _) = lane.poll_once(core);
        Ok(pending.take(&mut core))
    }

    /// Does [`test`](Self::test); if the operation has not ended, `waker` is woken once it may have. A thread
    /// has to make progress meanwhile ([`start_serving`](Self::start_serving)). The waker is called inside
    /// the library, which it must not call.
    ///
    /// # Errors
    /// `Forked`.
    pub fn test_or_notify(&self, pending: Pending, waker: &Waker) -> Result<Option<Completion>, Error> {
        let lane = self.lane_of(pending);
        let mut core = lane.lock()?;
        if let Some(ended) = pending.take(&mut core) {
            return Ok(Some(ended));
        }
        let (mut core, _) = lane.poll_once(core);
        core.lane.wake_waiters();
        let ended = pending.take(&mut core);
        if ended.is_none() {
            core.lane.waiters.add_task(waker, pending.request());
        }
        Ok(ended)
    }

    /// Makes progress once.
    ///
    /// # Errors
    /// `Forked`.
    pub fn poll(&self) -> Result<bool, Error> {
        Ok(self.poll_once(self.lock()?).1)
    }

    /// Waits for the end of an operation. After a deadline it is still under way.
    ///
    /// # Errors
    /// `Deadline`, `Forked`.
    pub fn wait(&self, pending: Pending, deadline: Option<Instant>) -> Result<Completion, Error> {
        let lane = self.lane_of(pending);
        if let Some(ended) = pending.take(&mut *lane.lock()?) {
            return Ok(ended);
        }
        let (_, ended) = lane.wait_any(&[pending], deadline)?;
        Ok(ended)
    }

    /// Waits until an operation has ended, whose completion is still to be taken. Returns false for a receive
    /// from any source, for which it does not wait.
    ///
    /// # Errors
    /// `Forked`.
    pub fn await_end(&self, pending: Pending) -> Result<bool, Error> {
        let lane = self.lane_of(pending);
        let core = lane.lock()?;
        lane.wake_progress_owner(&core);
        if pending.is_from_any_source(&core) {
            return Ok(false);
        }
        let ended = |core: &mut Core| pending.has_ended(core).then_some(());
        lane.wait_before(core, None, Awaited::AnyOf(&[pending]), ended);
        Ok(true)
    }

    /// Waits for the end of any of several operations; returns its number in the list, and its completion.
    ///
    /// # Errors
    /// `Deadline`, `Forked`.
    pub fn wait_any(
        &self,
        list: &[Pending],
        deadline: Option<Instant>,
    ) -> Result<(usize, Completion), Error> {
        match self.only_lane_of(list, LaneSet::default()) {
            Some(lane) => lane.wait_any_here(list, deadline),
            None => self.wait_any_of_lanes(list, deadline),
        }
    }

    fn wait_any_here(
        &self,
        list: &[Pending],
        deadline: Option<Instant>,
    ) -> Result<(usize, Completion), Error> {
        let core = self.lock()?;
        self.wake_progress_owner(&core);
        let ready = |core: &mut Core| {
            list.iter().filter_map(|pending| pending.request()).for_each(|id| {
                core.lane.proto.fail_pending(id);
            });
            list.iter().enumerate().find_map(|(at, pending)| Some((at, pending.take(core)?)))
        };
        let any_source = list.iter().any(|pending| pending.is_from_any_source(&core));
        let core = if deadline.is_none() && any_source {
            let (mut core, found) = self.wait_for_any_sender(core, Awaited::AnyOf(list), ready);
            if let Some(found) = found {
                return Ok(found);
            }
            let _ = list.iter().any(|pending| pending.give_up(&mut core));
            core
        } else {
            core
        };
        let (_core, found) = self.wait_before(core, deadline, Awaited::AnyOf(list), ready);
        found.ok_or_else(|| Error::Deadline(format!("{} operations", list.len())))
    }

    /// Waits until any of several operations has ended, or until `by_program` returns true. Its completion is
    /// still to be taken, or another thread has taken it. `by_program` may be called with the lock held;
    /// [`Engine::notify_waiters`] causes a call. The thread also makes progress on the lanes `also`, on which
    /// the program may start operations.
    ///
    /// A receive from any source ends when no rank or thread is left that could send, unless the program may
    /// end the wait.
    ///
    /// # Errors
    /// `Forked`.
    pub fn await_any(
        &self,
        list: &[Pending],
        also: LaneSet,
        by_program: Option<&dyn Fn() -> bool>,
    ) -> Result<(), Error> {
        match self.only_lane_of(list, also) {
            Some(lane) => lane.await_any_here(list, by_program),
            None => self.await_any_of_lanes(list, also, by_program),
        }
    }

    fn await_any_here(&self, list: &[Pending], by_program: Option<&dyn Fn() -> bool>) -> Result<(), Error> {
        let core = self.lock()?;
        self.wake_progress_owner(&core);
        let ready = |core: &mut Core| {
            let ended = list.iter().any(|pending| pending.has_ended(core) || pending.is_in_doubt(core));
            (ended || by_program.is_some_and(|is_done| is_done())).then_some(())
        };
        if by_program.is_none() && list.iter().any(|pending| pending.is_from_any_source(&core)) {
            let (mut core, found) = self.wait_for_any_sender(core, Awaited::AnyOf(list), ready);
            if found.is_none() {
                let _ = list.iter().any(|pending| pending.give_up(&mut core));
            }
            return Ok(());
        }
        let awaited = if by_program.is_some() { Awaited::AnyOfOrProgram(list) } else { Awaited::AnyOf(list) };
        self.wait_before(core, None, awaited, ready);
        Ok(())
    }

    /// Makes every waiting thread of this rank re-check its condition, because the program has changed
    /// something.
    ///
    /// # Errors
    /// `Forked`.
    pub fn notify_waiters(&self) -> Result<(), Error> {
        self.all_lanes().iter().try_for_each(|number| {
            let lane = self.numbered_lane(number);
            let mut core = lane.lock()?;
            core.lane.waiters.wake_all();
            lane.wake_progress_owner(&core);
            Ok(())
        })
    }

    /// Withdraws an operation if it is not too late; returns true if it has. A long send whose receiver knows
    /// of it is asked back: its end shows whether it was withdrawn. Every end must still be waited for.
    ///
    /// # Errors
    /// `Forked`.
    pub fn cancel(&self, pending: Pending) -> Result<bool, Error> {
        let mut core = self.lane_of(pending).lock_to_submit()?;
        Ok(matches!(pending.kind, PendingKind::Request(id) if core.lane.proto.cancel(id) == Cancel::Done))
    }

    /// Withdraws an operation unless another rank knows of it; returns true if it has. Its end must still be
    /// waited for.
    ///
    /// # Errors
    /// `Forked`.
    pub fn cancel_here(&self, pending: Pending) -> Result<bool, Error> {
        let mut core = self.lane_of(pending).lock_to_submit()?;
        Ok(matches!(pending.kind, PendingKind::Request(id) if core.lane.proto.cancel_here(id)))
    }
}
