//! Non-blocking duplicates (MPI 5.0, §7.4.2). The call itself copies the state, while the engine agrees on
//! the flow.

use std::sync::Arc;

use canele_engine::{Completion, FlowId, Pending};
use canele_sys::atomic::Ordering;

use super::Comm;
use super::agree::NewFlow;
use super::create::{Copied, UnusedFlow};
use super::hints::wanted_lane;
use crate::collective::check::{self, Form};
use crate::info::Info;
use crate::request::{Request, Step, Steps};
use crate::status::Status;
use crate::{Class, Error, Result};

/// The function that takes the finished duplicate.
pub type Done = Box<dyn FnOnce(Arc<Comm>) -> Result<()> + Send>;

/// A duplicate in progress.
struct Duplicate {
    comm: Arc<Comm>,
    /// The agreement, until it has completed.
    agreement: Option<Pending>,
    /// The value of `uses_lanes` at the start, if it was known.
    uses_lanes: Option<bool>,
    /// The copied state; taken at the end.
    copied: Option<Result<Copied>>,
    done: Option<Done>,
}

impl Comm {
    /// Starts to make a duplicate ([`Comm::dup`]).
    ///
    /// # Errors
    /// Fails if the job is over or all flows are in use.
    pub fn idup(self: &Arc<Self>, info: &Info, done: Done) -> Result<Request> {
        let call = self.describe("MPI_Comm_dup", |call| call);
        let exchange = self.start_check(Form::Immediate, call.as_deref())?;
        let pending = self.start_agreement(info)?;
        let (agreement, uses_lanes) = (Some(pending), self.uses_lanes.get().copied());
        let mut duplicate =
            Duplicate { comm: self.clone(), agreement, uses_lanes, copied: None, done: Some(done) };
        // The request reports the error, since the other members have begun. A function of the program may
        // throw an exception instead.
        duplicate.copied = Some(self.copied(info));
        Ok(check::request(self, exchange, pending, Box::new(duplicate)))
    }

    /// Starts to agree on the flows of a duplicate; on several lanes if communicators made from this one may
    /// use them.
    fn start_agreement(&self, info: &Info) -> Result<Pending> {
        let flow = self.collectives();
        // All members have learned the same about lanes, since they make their calls in one order.
        let may_have = !self.is_inter() && self.uses_lanes.get() != Some(&false);
        if !may_have || !self.engine.may_have_lanes(flow)? {
            return Ok(self.engine.start_agreement(flow)?);
        }
        // Relaxed: the flag was set before this communicator was made, or too late for it.
        let wants = self.shared.has_threads.load(Ordering::Relaxed);
        Ok(self.engine.start_agreement_on_lanes(flow, wants.then(|| wanted_lane(info)))?)
    }

    /// Returns the flows of a duplicate. All members had the same `uses_lanes` at its start.
    fn agreed_flows(&self, flows: &[(u8, FlowId)], uses_lanes: Option<bool>) -> Option<UnusedFlow> {
        let (first, further) = flows.split_first()?;
        let on_lane = |(lane, flow): &(u8, FlowId)| NewFlow::on(&self.engine.open_lane(*lane), *flow);
        let further = further.iter().map(|flow| on_lane(flow).first).collect();
        Some(UnusedFlow::new(NewFlow { further, uses_lanes, ..on_lane(first) }))
    }
}

impl Duplicate {
    fn finish(&mut self, ended: Completion) -> Result<Status> {
        self.agreement = None;
        let flow = self.comm.agreed_flows(&ended.flows(), self.uses_lanes);
        ended.result?;
        let (Some(flow), Some(copied)) = (flow, self.copied.take()) else {
            return Err(Error::new(Class::Internal, "an agreement has no result"));
        };
        let made = self.comm.dup_on(flow, copied)?;
        self.done.take().map_or(Ok(()), |done| done(made))?;
        Ok(Status::EMPTY)
    }
}

impl Drop for Duplicate {
    fn drop(&mut self) {
        if let Some(agreement) = self.agreement {
            // This fails only in a forked child, which has no flows.
            let _ = self.comm.engine.abandon_agreement(agreement);
        }
    }
}

impl Steps for Duplicate {
    fn step(&mut self, ended: Completion) -> Step {
        Step::Done(self.finish(ended))
    }
}
