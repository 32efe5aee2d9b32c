//! Agreement on flags, also if members die meanwhile.
//!
//! Between two groups each gets the flags of the other. So there is a word for each group, in the order that both have; a member leaves all bits of
//! the other group's set.

use std::sync::Arc;

use canele_engine::{Completion, Decision, Pending};
use canele_sys::atomic::Ordering;

use crate::awaited;
use crate::comm::Comm;
use crate::request::{Request, Step, Steps};
use crate::status::Status;
use crate::{Class, Error, Result};

/// What is done with the flags agreed on.
pub type TakeFlags = Box<dyn FnOnce(u32) -> Result<()> + Send>;

/// An agreement under way.
struct Agree {
    comm: Arc<Comm>,
    take: Option<TakeFlags>,
}

impl Comm {
    /// Starts an agreement on flags: the bits that all members have set that are left, of the other group if there are two. All members call it, revoked or
    /// not. It raises [`Class::ProcFailed`] at all of them, with the flags agreed on, if the flags of a member are missing whose failure one of
    /// them has not acknowledged.
    ///
    /// # Errors
    /// In a forked child; the job is over.
    pub fn iagree_on_flags(self: &Arc<Self>, flags: u32, take: TakeFlags) -> Result<Request> {
        let mut words = vec![u64::MAX, u64::MAX];
        words[self.group_number()] = u64::from(flags);
        let pending = self.start_consensus(words)?;
        let agree = Agree { comm: self.clone(), take: Some(take) };
        Ok(Request::steps(self.clone(), pending, Box::new(agree)))
    }

    /// The same, and waits.
    ///
    /// # Errors
    /// As [`Comm::iagree_on_flags`].
    pub fn agree_on_flags(self: &Arc<Self>, flags: u32, take: TakeFlags) -> Result<()> {
        awaited::finish(&self.engine, self.iagree_on_flags(flags, take)?).map(drop)
    }

    /// Returns once all members that are left have called it.
    ///
    /// # Errors
    /// In a forked child; the job is over.
    pub(crate) fn await_survivors(&self) -> Result<()> {
        let pending = self.start_consensus(Vec::new())?;
        self.engine.wait(pending, None)?;
        Ok(())
    }

    /// Returns once all members have called it, in the function `name`; those that died are not waited for if the job goes on without them, or if
    /// there are members of another job, whose deaths end none of them.
    ///
    /// # Errors
    /// A member makes another call; where the job ends with a rank, it died; in a forked child; the job is over.
    pub(crate) fn await_members(&self, name: &'static str) -> Result<()> {
        let is_of_one_job = self.engine.are_of_this_job(self.all_members().members())?;
        if is_of_one_job && !self.engine.goes_on_after_failures() {
            return self.barrier(name);
        }
        // At a death a barrier ends for some members, and for others it does not: an agreement waits for all that live.
        match self.check_call(name) {
            Err(error) if error.class == Class::NotSame => Err(error),
            _ => self.await_survivors(),
        }
    }

    pub(super) fn start_consensus(&self, words: Vec<u64>) -> Result<Pending> {
        // Relaxed: the engine is asked who is meant. A member that waits on a lane where it is not revoked yet takes no part before it is.
        if self.is_spread() && self.shared.any_revoked.load(Ordering::Relaxed) {
            self.is_revoked()?;
        }
        Ok(self.engine.start_consensus(self.flow, words, self.acknowledged_members()?)?)
    }

    /// What an agreement has ended with.
    pub(super) fn decided(&self, ended: Completion) -> Result<Decision> {
        let decision = self.engine.decision(&ended);
        ended.result?;
        decision.ok_or_else(|| Error::new(Class::Internal, "an agreement has no result"))
    }

    /// The number of this process's group in the order that both have.
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
