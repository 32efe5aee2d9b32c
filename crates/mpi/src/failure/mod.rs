//! Process failures, according to the proposal *User Level Failure Mitigation*: failed members, acknowledged
//! failures, revoked communicators. Agreements are in `agree`, communicators of the survivors in `shrink`.
//!
//! A member has failed if the engine reports it as gone. An operation with it, and a collective of its
//! communicators, raises [`Class::ProcFailed`]. A receive from any source stays pending: each wait for it
//! raises [`Class::ProcFailedPending`] until the failure is acknowledged.

mod agree;
mod shrink;

use canele_engine::Rank;
use canele_sys::atomic::Ordering;

use crate::comm::Comm;
use crate::group::Group;
use crate::{Class, Error, Result};

impl Comm {
    /// Returns the failed members of both groups, in the order in which this process learned of their deaths.
    fn failed_members(&self) -> Result<Vec<Rank>> {
        let all = self.all_members();
        self.engine.learn_deaths()?;
        let mut failed = self.engine.ask(|view| view.deaths().to_vec())?;
        failed.retain(|rank| all.rank_of(*rank).is_some());
        Ok(failed)
    }

    /// Returns the group of the members known to have failed. Later groups begin with this one.
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn failed(&self) -> Result<Group> {
        Group::new(self.failed_members()?)
    }

    /// Returns the acknowledged members of [`Comm::failed`].
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn acknowledged(&self) -> Result<Group> {
        Group::new(self.acknowledged_members()?)
    }

    fn acknowledged_members(&self) -> Result<Vec<Rank>> {
        let all = self.all_members();
        // Relaxed: a counter that only grows and orders no other memory.
        let deaths = self.deaths_acknowledged.load(Ordering::Relaxed);
        let mut acknowledged =
            self.engine.ask(|view| view.deaths().iter().copied().take(deaths).collect::<Vec<_>>())?;
        acknowledged.retain(|rank| all.rank_of(*rank).is_some());
        Ok(acknowledged)
    }

    /// Acknowledges the first failures of [`Comm::failed`], at most `most`; returns the number of
    /// acknowledged failures.
    ///
    /// # Errors
    /// Fails in a forked child, or if the job is over.
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
        // Each lane learns of deaths in its own order.
        for (lane, flow) in self.flows().skip(1) {
            lane.learn_deaths()?;
            let is_open = |rank: &Rank| all.rank_of(*rank).is_some() && !acknowledged.contains(rank);
            let deaths = lane.ask(|view| view.deaths().iter().take_while(|rank| !is_open(rank)).count())?;
            lane.acknowledge(flow, deaths)?;
        }
        Ok(acknowledged.len())
    }

    /// Revokes the communicator on all members. Pending and later operations raise [`Class::Revoked`], except
    /// agreements and shrinking.
    ///
    /// # Errors
    /// Fails in a forked child, or if the job is over.
    pub fn revoke(&self) -> Result<()> {
        Ok(self.flows().try_for_each(|(lane, flow)| lane.revoke(flow))?)
    }

    /// Returns true if the communicator is known to be revoked.
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn is_revoked(&self) -> Result<bool> {
        for (lane, flow) in self.flows() {
            if lane.is_revoked(flow)? {
                if self.is_spread() {
                    // The revoking member may have died before it revoked all lanes.
                    self.revoke()?;
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Fails if the communicator is revoked. This is cheap while no communicator of the process is revoked.
    ///
    /// # Errors
    /// Fails if the communicator is revoked.
    #[inline(always)]
    pub fn check_revoked(&self) -> Result<()> {
        // Relaxed: the engine then tells which communicator is revoked.
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
