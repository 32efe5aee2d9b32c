//! Duplicates that are made while the program goes on (MPI 5.0, §7.4.2): the engine agrees on a flow meanwhile. What a duplicate
//! copies is copied by the call.

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

/// What is done with the duplicate.
pub type Done = Box<dyn FnOnce(Arc<Comm>) -> Result<()> + Send>;

/// A duplicate that is being made.
struct Duplicate {
    comm: Arc<Comm>,
    /// Until it has ended.
    agreement: Option<Pending>,
    /// What was known of it when the duplicate was started.
    uses_lanes: Option<bool>,
    /// Taken when it ends.
    copied: Option<Result<Copied>>,
    done: Option<Done>,
}

impl Comm {
    /// Starts to make a duplicate, as [`Comm::dup`].
    ///
    /// # Errors
    /// The job is over; all flows are in use.
    pub fn idup(self: &Arc<Self>, info: &Info, done: Done) -> Result<Request> {
        let call = self.describe("MPI_Comm_dup", |call| call);
        let exchange = self.start_check(Form::Immediate, call.as_deref())?;
        let pending = self.start_agreement(info)?;
        let (agreement, uses_lanes) = (Some(pending), self.uses_lanes.get().copied());
        let mut duplicate =
            Duplicate { comm: self.clone(), agreement, uses_lanes, copied: None, done: Some(done) };
        // An error is told by the request: the other members have begun. A function of the program may throw an exception instead.
        duplicate.copied = Some(self.copied(info));
        Ok(check::request(self, exchange, pending, Box::new(duplicate)))
    }

    /// Starts to agree on the flows of a duplicate, on lanes if communicators that all members make of this one may lie there.
    fn start_agreement(&self, info: &Info) -> Result<Pending> {
        let flow = self.collectives();
        // What all members know of lanes they have learned in their calls, in one order.
        let may_have = !self.is_inter() && self.uses_lanes.get() != Some(&false);
        if !may_have || !self.engine.may_have_lanes(flow)? {
            return Ok(self.engine.start_agreement(flow)?);
        }
        // Relaxed: set before this communicator was made, or it is too late for it.
        let wants = self.shared.has_threads.load(Ordering::Relaxed);
        Ok(self.engine.start_agreement_on_lanes(flow, wants.then(|| wanted_lane(info)))?)
    }

    /// The flows of a duplicate; of `uses_lanes` all members knew as much when they started it.
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
            // A forked child has no flows.
            let _ = self.comm.engine.abandon_agreement(agreement);
        }
    }
}

impl Steps for Duplicate {
    fn step(&mut self, ended: Completion) -> Step {
        Step::Done(self.finish(ended))
    }
}
