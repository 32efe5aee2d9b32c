//! Agreement on flags that tolerates deaths.
//!
//! On an intercommunicator each group gets the flags of the other one. So there is a word for each group, in
//! an order that both groups use. A member sets all bits of the other group's word.

use std::sync::Arc;

use canele_engine::{Completion, Decision, Pending};
use canele_sys::atomic::Ordering;

use crate::awaited;
use crate::comm::Comm;
use crate::request::{Request, Step, Steps};
use crate::status::Status;
use crate::{Class, Error, Result};

/// The function that takes the flags agreed on.
pub type TakeFlags = Box<dyn FnOnce(u32) -> Result<()> + Send>;

/// An agreement in progress.
struct Agree {
    comm: Arc<Comm>,
    take: Option<TakeFlags>,
}

impl Comm {
    /// Starts an agreement on flags. The result has the bits that all live members have set; on an
    /// intercommunicator, those of the other group. All members call it, revoked or not. It raises
    /// [`Class::ProcFailed`] on all members if the flags of a failed member are missing and a member has not
    /// acknowledged that failure. The flags agreed on are set in this case, too.
    ///
    /// # Errors
    /// Fails in a forked child, or if the job is over.
    pub fn iagree_on_flags(self: &Arc<Self>, flags: u32, take: TakeFlags) -> Result<Request> {
        let mut words = vec![u64::MAX, u64::MAX];
        words[self.group_number()] = u64::from(flags);
        let pending = self.start_consensus(words)?;
        let agree = Agree { comm: self.clone(), take: Some(take) };
        Ok(Request::steps(self.clone(), pending, Box::new(agree)))
    }

    /// Agrees on flags and waits for the result ([`Comm::iagree_on_flags`]).
    ///
    /// # Errors
    /// Fails like [`Comm::iagree_on_flags`].
    pub fn agree_on_flags(self: &Arc<Self>, flags: u32, take: TakeFlags) -> Result<()> {
        awaited::finish(&self.engine, self.iagree_on_flags(flags, take)?).map(drop)
    }

    /// Returns after all live members have called this function.
    ///
    /// # Errors
    /// Fails in a forked child, or if the job is over.
    pub(crate) fn await_survivors(&self) -> Result<()> {
        let pending = self.start_consensus(Vec::new())?;
        self.engine.wait(pending, None)?;
        Ok(())
    }

    /// Returns after all members have called it, in the function `name`. It does not wait for dead members if
    /// the job continues after deaths, or if members belong to another job.
    ///
    /// # Errors
    /// Fails if a member makes another call, in a forked child, or if the job is over. Fails if a member died
    /// in a job that ends with a rank.
    pub(crate) fn await_members(&self, name: &'static str) -> Result<()> {
        let is_of_one_job = self.engine.are_of_this_job(self.all_members().members())?;
        if is_of_one_job && !self.engine.goes_on_after_failures() {
            return self.barrier(name);
        }
        // At a death a barrier may complete on some members only, so an agreement waits for all live ones.
        match self.check_call(name) {
            Err(error) if error.class == Class::NotSame => Err(error),
            _ => self.await_survivors(),
        }
    }

    pub(super) fn start_consensus(&self, words: Vec<u64>) -> Result<Pending> {
        // Relaxed: the engine then tells which communicator is revoked. A lane on which it is not yet revoked
        // would not take part in the agreement.
        if self.is_spread() && self.shared.any_revoked.load(Ordering::Relaxed) {
            self.is_revoked()?;
        }
        Ok(self.engine.start_consensus(self.flow, words, self.acknowledged_members()?)?)
    }

    /// Returns the decision of a completed agreement.
    pub(super) fn decided(&self, ended: Completion) -> Result<Decision> {
        let decision = self.engine.decision(&ended);
        ended.result?;
        decision.ok_or_else(|| Error::new(Class::Internal, "an agreement has no result"))
    }

    /// Returns the number of this process's group in the order that both groups share.
    fn group_number(&self) -> usize {
        let first = self.all_members().member(0);
        usize::from(self.remote_if().is_some_and(|remote| remote.member(0) == first))
    }
}

impl Agree {
    fn finish(&mut self, ended: Completion) -> Result<Status> {
        let decision = self.comm.decided(ended)?;
        let own = self.comm.group_number();
        let of = if self.comm.is_inter() { 1 - own } else { own };
        let Some(flags) = decision.words.get(of) else {
            return Err(Error::new(
                Class::NotSame,
                "the members made different calls: all agree in the same order",
            ));
        };
        self.take.take().map_or(Ok(()), |take| take(*flags as u32))?;
        let unknown = decision.failed.iter().find(|rank| !decision.acknowledged.contains(rank));
        match unknown {
            None => Ok(Status::EMPTY),
            Some(rank) => {
                let failed = decision.failed.len();
                let text = format!(
                    "{failed} members failed, among them {rank} of the job, whose failure not all have acknowledged: \
                     the flags are those of the others"
                );
                Err(Error::new(Class::ProcFailed, text))
            }
        }
    }
}

impl Steps for Agree {
    fn step(&mut self, ended: Completion) -> Step {
        Step::Done(self.finish(ended))
    }
}
