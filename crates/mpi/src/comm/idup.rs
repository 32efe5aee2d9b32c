//! Duplicates that are made while the program goes on (MPI 5.0, §7.4.2): the engine agrees on a flow meanwhile.

use std::sync::Arc;

use canele_engine::Completion;

use super::Comm;
use crate::info::Info;
use crate::request::{Request, Step, Steps};
use crate::status::Status;
use crate::{Class, Error, Result};

/// What is done with the duplicate.
pub type Done = Box<dyn FnOnce(Arc<Comm>) -> Result<()> + Send>;

/// A duplicate that is being made.
struct Duplicate {
    comm: Arc<Comm>,
    info: Option<Arc<Info>>,
    done: Option<Done>,
}

impl Comm {
    /// Starts to make a duplicate, as [`Comm::dup`].
    ///
    /// # Errors
    /// The job is over; all flows are in use.
    pub fn idup(self: &Arc<Self>, info: Option<Arc<Info>>, done: Done) -> Result<Request> {
        let pending = self.engine.start_agreement(self.collectives())?;
        let duplicate = Duplicate { comm: self.clone(), info, done: Some(done) };
        Ok(Request::steps(self.clone(), pending, Box::new(duplicate)))
    }
}

impl Duplicate {
    fn finish(&mut self, ended: Completion) -> Result<Status> {
        let flow = ended.flow();
        ended.result?;
        let flow = flow.ok_or_else(|| Error::new(Class::Internal, "an agreement has no result"))?;
        let made = self.comm.dup_on(flow, self.info.take())?;
        self.done.take().map_or(Ok(()), |done| done(made))?;
        Ok(Status::EMPTY)
    }
}

impl Steps for Duplicate {
    fn step(&mut self, ended: Completion) -> Step {
        Step::Done(self.finish(ended))
    }
}
