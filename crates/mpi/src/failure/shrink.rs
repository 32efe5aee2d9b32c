//! A communicator of the survivors.
//!
//! ```text
//!   flows free here ──(agreement)──▶ free everywhere: take one ──(agreement)──▶ all took it: made; else retry
//! ```
//! The new communicator has the members whose words were in the last agreement. A member that dies later is a
//! failed member of it.

use std::sync::Arc;

use canele_engine::collective::{FIRST_PAIR, WINDOW_PAIRS, first_of};
use canele_engine::{Completion, FlowId, Pending, Rank};

use crate::Result;
use crate::awaited;
use crate::comm::Comm;
use crate::comm::agree::NewFlow;
use crate::group::Group;
use crate::request::{Request, Step, Steps};
use crate::status::Status;

/// The function that takes the new communicator; none if one of two groups has no members left.
pub type TakeComm = Box<dyn FnOnce(Option<Arc<Comm>>) -> Result<()> + Send>;

/// A shrink operation in progress.
struct Shrink {
    comm: Arc<Comm>,
    /// First pair of the examined window of flow pairs.
    first: u32,
    /// The pair that the members agree about, and true if it was free here.
    taken: Option<(u32, bool)>,
    take: Option<TakeComm>,
}

impl Comm {
    /// Starts to make a communicator of the live members, in their order. All live members call it, revoked
    /// or not.
    ///
    /// # Errors
    /// Fails in a forked child, if the job is over, or if all flows are in use.
    pub fn ishrink(self: &Arc<Self>, take: TakeComm) -> Result<Request> {
        let mut shrink = Shrink { comm: self.clone(), first: FIRST_PAIR, taken: None, take: Some(take) };
        let pending = shrink.look()?;
        Ok(Request::steps(self.clone(), pending, Box::new(shrink)))
    }

    /// Makes a communicator of the live members and waits for it ([`Comm::ishrink`]).
    ///
    /// # Errors
    /// Fails like [`Comm::ishrink`].
    pub fn shrink(self: &Arc<Self>, take: TakeComm) -> Result<()> {
        awaited::finish(&self.engine, self.ishrink(take)?).map(drop)
    }
}

impl Shrink {
    /// Starts an agreement on the pairs that are free everywhere.
    fn look(&mut self) -> Result<Pending> {
        let free = self.comm.engine().free_pairs(self.first)?;
        self.comm.start_consensus(free.to_vec())
    }

    /// Handles a completed agreement; returns the next one, or none when the shrink is done.
    fn go_on(&mut self, ended: Completion) -> Result<Option<Pending>> {
        let decision = self.comm.decided(ended)?;
        match self.taken.take() {
            None => self.choose(&decision.words).map(Some),
            Some((pair, true)) if decision.words.first() == Some(&1) => {
                let made = self.make(FlowId(2 * pair), &decision.failed)?;
                self.take.take().map_or(Ok(()), |take| take(made))?;
                Ok(None)
            }
            Some((pair, taken)) => {
                if taken {
                    self.comm.engine().give_pair_back(pair)?;
                }
                self.first = pair + 1;
                self.look().map(Some)
            }
        }
    }

    /// Takes the first pair that is free everywhere, and starts an agreement on the success of all members.
    fn choose(&mut self, window: &[u64]) -> Result<Pending> {
        let begin = self.first / WINDOW_PAIRS * WINDOW_PAIRS;
        let Some(pair) = first_of(begin, window) else {
            self.first = begin + WINDOW_PAIRS;
            return self.look();
        };
        let taken = self.comm.engine().take_pair(pair)?;
        self.taken = Some((pair, taken));
        self.comm.start_consensus(vec![u64::from(taken)])
    }

    fn make(&self, flow: FlowId, failed: &[Rank]) -> Result<Option<Arc<Comm>>> {
        let left = |group: &Group| {
            let members = group.members().iter().copied().filter(|rank| !failed.contains(rank));
            Group::new(members.collect()).map(Arc::new)
        };
        let remote = self.comm.remote_if().map(|remote| left(remote)).transpose()?;
        let new = NewFlow::on(self.comm.engine(), flow);
        self.comm.member_of(new, left(self.comm.group())?, remote, None)
    }
}

impl Steps for Shrink {
    fn step(&mut self, ended: Completion) -> Step {
        match self.go_on(ended) {
            Ok(Some(pending)) => Step::Next(pending),
            Ok(None) => Step::Done(Ok(Status::EMPTY)),
            Err(error) => {
                if let Some((pair, true)) = self.taken.take() {
                    // The first error is reported.
                    let _ = self.comm.engine().give_pair_back(pair);
                }
                Step::Done(Err(error))
            }
        }
    }
}
