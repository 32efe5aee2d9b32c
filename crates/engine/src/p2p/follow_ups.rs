//! Work of a layer above under the engine's lock: operations that belong together, follow-ups of operations,
//! and work of the next pass. The thread that makes progress when an operation ends calls its follow-up.
//!
//! A layer with a state of its own takes the engine's lock first, then its own: [`Engine::submit_with`] calls
//! it with the engine's lock held, and so does a follow-up. Neither may call the engine otherwise.

use canele_mem::buffer::{InBuffer, OutBuffer};
use canele_proto::Envelope;
use canele_proto::matching::Want;
use canele_sys::ids::{FlowId, RequestId};

use crate::engine::Engine;
use crate::lane::Lane;
use crate::{Completion, Error, Pending};

/// A step after the end of an operation.
pub trait FollowUp: Send {
    /// Handles the end; returns another operation that is to be followed, if there is one.
    fn ended(&mut self, ended: Completion, submit: &mut Submit<'_>) -> Option<Pending>;
}

/// The right to submit operations, with the engine's lock held.
pub struct Submit<'a> {
    lane: &'a mut Lane,
}

impl Submit<'_> {
    /// Starts a send.
    pub fn isend(&mut self, envelope: Envelope, buffer: OutBuffer) -> Pending {
        Pending::from(self.lane.submit_send(envelope, buffer)).on_lane(self.lane.number)
    }

    /// Starts a receive.
    pub fn irecv(&mut self, flow: FlowId, want: Want, buffer: InBuffer) -> Pending {
        Pending::from(self.lane.submit_recv(flow, want, buffer)).on_lane(self.lane.number)
    }
}

/// The follow-ups of operations under way, and the work of the next pass.
#[derive(Default)]
pub(crate) struct FollowUps(Vec<Work>);

/// Submits operations in the next pass.
pub type PassWork = Box<dyn FnOnce(&mut Submit<'_>) + Send>;

enum Work {
    /// The follow-up of an operation.
    Behind(RequestId, Box<dyn FollowUp>),
    /// Work of the next pass, which takes it.
    InPass(Option<PassWork>),
}

impl FollowUps {
    /// Returns true if there is any.
    #[inline(always)]
    pub fn any(&self) -> bool {
        !self.0.is_empty()
    }
}

impl Lane {
    /// Calls the follow-ups of operations that have ended; returns true if one has.
    #[cold]
    #[inline(never)]
    pub fn call_follow_ups(&mut self) -> bool {
        let mut called = false;
        // They submit operations to this lane.
        let mut follow_ups = std::mem::take(&mut self.follow_ups);
        follow_ups.0.retain_mut(|work| {
            let (request, follow_up) = match work {
                Work::Behind(request, follow_up) => (request, follow_up),
                Work::InPass(work) => {
                    called = true;
                    if let Some(work) = work.take() {
                        work(&mut Submit { lane: &mut *self });
                    }
                    return false;
                }
            };
            let Some(outcome) = self.proto.take(*request) else { return true };
            called = true;
            let next = follow_up.ended(outcome.into(), &mut Submit { lane: &mut *self });
            let next = next.and_then(Pending::request);
            *request = next.unwrap_or(*request);
            next.is_some()
        });
        self.follow_ups = follow_ups;
        called
    }
}

impl Engine {
    /// Submits operations together. The ranks that they name must be ranks of the job.
    ///
    /// # Errors
    /// The job is over; `Forked`.
    pub fn submit_with<T>(&self, submit: impl FnOnce(&mut Submit<'_>) -> T) -> Result<T, Error> {
        let mut core = self.lock_to_submit()?;
        Ok(submit(&mut Submit { lane: &mut core.lane }))
    }

    /// Adds a follow-up to an operation: the thread that makes progress at its end calls it.
    ///
    /// # Errors
    /// Those of [`Engine::submit_with`].
    pub fn follow(
        &self,
        follow_up: Box<dyn FollowUp>,
        start: impl FnOnce(&mut Submit<'_>) -> Pending,
    ) -> Result<(), Error> {
        let mut core = self.lock_to_submit()?;
        let lane = &mut core.lane;
        let request = start(&mut Submit { lane: &mut *lane }).request();
        lane.follow_ups.0.extend(request.map(|request| Work::Behind(request, follow_up)));
        Ok(())
    }

    /// Adds work for the next pass of any thread. The ranks that it names must be ranks of the job.
    ///
    /// # Errors
    /// Those of [`Engine::submit_with`].
    pub fn do_in_next_pass(&self, work: PassWork) -> Result<(), Error> {
        let mut core = self.lock_to_submit()?;
        core.lane.follow_ups.0.push(Work::InPass(Some(work)));
        core.lane.waiters.wake_all();
        self.wake_progress_owner(&core);
        Ok(())
    }
}
