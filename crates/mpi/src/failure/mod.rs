//! Process failures, as the proposal *User Level Failure Mitigation* has them: who failed, what of that the program has acknowledged,
//! revoked communicators; agreements are in `agree`, communicators of those that are left in `shrink`.
//!
//! A failed member is one that is gone for the engine. An operation with it, and a collective of its communicators, raises
//! [`Class::ProcFailed`]; a receive from any source stays under way and raises [`Class::ProcFailedPending`] whenever it is waited for, until
//! the failure is acknowledged.

mod agree;
mod shrink;

use canele_engine::Rank;
use canele_sys::atomic::Ordering;

use crate::comm::Comm;
use crate::group::Group;
use crate::{Class, Error, Result};

impl Comm {
    /// Members that failed, of both groups if there are two, in the order in which this process learned of them.
    fn failed_members(&self) -> Result<Vec<Rank>> {
        let all = self.all_members();
        self.engine.learn_deaths()?;
        let mut failed = self.engine.ask(|view| view.deaths().to_vec())?;
        failed.retain(|rank| all.rank_of(*rank).is_some());
        Ok(failed)
    }

    /// The group of the members that failed, as far as this process knows. Later calls give groups that begin with this one.
    ///
    /// # Errors
    /// In a forked child.
    pub fn failed(&self) -> Result<Group> {
        Group::new(self.failed_members()?)
    }

    /// Those of [`Comm::failed`] that are acknowledged.
    ///
    /// # Errors
    /// In a forked child.
    pub fn acknowledged(&self) -> Result<Group> {
        Group::new(self.acknowledged_members()?)
    }

    fn acknowledged_members(&self) -> Result<Vec<Rank>> {
        let all = self.all_members();
        // Relaxed: a count that only grows, and concerns nothing else in memory.
        let deaths = self.deaths_acknowledged.load(Ordering::Relaxed);
        let mut acknowledged =
            self.engine.ask(|view| view.deaths().iter().copied().take(deaths).collect::<Vec<_>>())?;
        acknowledged.retain(|rank| all.rank_of(*rank).is_some());
        Ok(acknowledged)
    }

    /// Acknowledges the first failures of [`Comm::failed`], at most so many; says how many are acknowledged now.
    ///
    /// # Errors
    /// In a forked child; the job is over.
    pub fn acknowledge_failed(&self, most: usize) -> Result<usize> {
        let all = self.all_members();
        self.engine.learn_deaths()?;
        let deaths = self.engine.ask(|view| {
            let members = view.deaths().iter().enumerate().filter(|(_, rank)| all.rank_of(**rank).is_some());
            members.take(most).last().map_or(0, |(at, _)| at + 1)
        })?;
        self.deaths_acknowledged.fetch_max(deaths, Ordering::Relaxed);
        self.engine.acknowledge(self.flow, deaths)?;
        let acknowledged = self.acknowledged_members()?;
        // Each lane has learned of deaths in an order of its own.
        for (lane, flow) in self.flows().skip(1) {
            lane.learn_deaths()?;
            let is_open = |rank: &Rank| all.rank_of(*rank).is_some() && !acknowledged.contains(rank);
            let deaths = lane.ask(|view| view.deaths().iter().take_while(|rank| !is_open(rank)).count())?;
            lane.acknowledge(flow, deaths)?;
        }
        Ok(acknowledged.len())
    }

    /// Revokes the communicator: all members learn of it, and what they do or have begun on it raises [`Class::Revoked`], but for
    /// agreements and making a communicator of those that are left.
    ///
    /// # Errors
    /// In a forked child; the job is over.
    pub fn revoke(&self) -> Result<()> {
        Ok(self.flows().try_for_each(|(lane, flow)| lane.revoke(flow))?)
    }

    /// True if it is revoked, as far as this process knows.
    ///
    /// # Errors
    /// In a forked child.
    pub fn is_revoked(&self) -> Result<bool> {
        for (lane, flow) in self.flows() {
            if lane.is_revoked(flow)? {
                if self.is_spread() {
                    // The member that has revoked it may have died before it did so on all lanes.
                    self.revoke()?;
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Fails if the communicator is revoked. Costs nothing worth mentioning as long as no communicator ever was.
    ///
    /// # Errors
    /// It is revoked.
    #[inline(always)]
    pub fn check_revoked(&self) -> Result<()> {
        // Relaxed: the engine is asked who is meant.
        if self.shared.any_revoked.load(Ordering::Relaxed) { self.check_own_revocation() } else { Ok(()) }
    }

    #[cold]
    #[inline(never)]
    fn check_own_revocation(&self) -> Result<()> {
        match self.is_revoked()? {
            true => Err(Error::new(
                Class::Revoked,
                "comm was revoked: MPIX_Comm_shrink makes a communicator of the processes that are left",
            )),
            false => Ok(()),
        }
    }
}
