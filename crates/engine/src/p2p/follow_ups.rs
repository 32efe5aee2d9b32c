//! Work of a layer above that is done under the engine's lock: operations that belong together, what follows an operation as soon as it
//! has ended, by whichever thread makes progress, and what the next pass does.
//!
//! A layer that keeps a state of its own takes the engine's lock first, then its own: [`Engine::submit_with`] calls it with the engine's
//! lock held, and so does what follows an operation. Neither may call the engine otherwise.

use canele_mem::buffer::{InBuffer, OutBuffer};
use canele_proto::Envelope;
use canele_proto::matching::Want;
use canele_sys::ids::{FlowId, RequestId};

use crate::engine::Engine;
use crate::lane::Lane;
use crate::{Completion, Error, Pending};

/// What is done when an operation has ended.
pub trait FollowUp: Send {
    /// It has ended; another operation that is to be followed, if there is one.
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

/// What follows operations that are under way, and what the next pass does.
#[derive(Default)]
pub(crate) struct FollowUps(Vec<Work>);

/// Submits operations in the next pass.
pub type PassWork = Box<dyn FnOnce(&mut Submit<'_>) + Send>;

enum Work {
    /// An operation has ended.
    Behind(RequestId, Box<dyn FollowUp>),
    /// There is a pass; taken by it.
    InPass(Option<PassWork>),
}

impl FollowUps {
    /// Whether there are any.
    #[inline(always)]
    pub fn any(&self) -> bool {
        !self.0.is_empty()
    }
}

impl Lane {
    /// Does what follows the operations that have ended; says whether any has.
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
    /// Submits operations together. The ranks that they name are ranks of the job.
    ///
    /// # Errors
    /// The job is over; `Forked`.
    pub fn submit_with<T>(&self, submit: impl FnOnce(&mut Submit<'_>) -> T) -> Result<T, Error> {
        let mut core = self.lock_to_submit()?;
        Ok(submit(&mut Submit { lane: &mut core.lane }))
    }

    /// Has an operation followed: what follows is called once it has ended, by the thread that makes progress then.
    ///
    /// # Errors
    /// As [`Engine::submit_with`].
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

    /// Has work done in the next pass of any thread. The ranks that it names are ranks of the job.
    ///
    /// # Errors
    /// As [`Engine::submit_with`].
    pub fn do_in_next_pass(&self, work: PassWork) -> Result<(), Error> {
        let mut core = self.lock_to_submit()?;
        core.lane.follow_ups.0.push(Work::InPass(Some(work)));
        core.lane.waiters.wake_all();
        self.wake_progress_owner(&core);
        Ok(())
    }
}
