//! Duplicates that are made while the program goes on (MPI 5.0, §7.4.2): the engine agrees on a flow meanwhile. What a duplicate
//! copies is copied by the call.

use std::sync::Arc;

use canele_engine::{Completion, Pending};

use super::Comm;
use super::agree::NewFlow;
use super::create::{Copied, UnusedFlow};
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
        let pending = self.engine.start_agreement(self.collectives())?;
        let agreement = Some(pending);
        let mut duplicate = Duplicate { comm: self.clone(), agreement, copied: None, done: Some(done) };
        // An error is told by the request: the other members have begun. A function of the program may throw an exception instead.
        duplicate.copied = Some(self.copied(info));
        Ok(check::request(self, exchange, pending, Box::new(duplicate)))
    }
}

impl Duplicate {
    fn finish(&mut self, ended: Completion) -> Result<Status> {
        self.agreement = None;
        let flow = ended.flow().map(|flow| UnusedFlow::new(NewFlow::on(&self.comm.engine, flow)));
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
