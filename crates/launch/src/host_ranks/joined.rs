//! Ranks that a launcher of another system has started: how they are taken over, and their end where that of the supervisor's children is not
//! enough.
//!
//! Owns what tells of the ends of the processes that have started them: when one of those is killed, its ranks have no parent that ends them.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use canele_control::JobInfo;
use rustix::process::{Pid, Signal};

use super::adopted::Adopted;
use super::control_channel::ControlChannel;
use super::{HostRanks, Own};
use crate::events::{Events, Ready, Source};
use crate::join::JoinedRank;
use crate::plan::Plan;

/// How long a rank may live on after the process that has started it.
const ORPHAN_GRACE: Duration = Duration::from_millis(500);

/// A process that has started ranks.
#[derive(Debug)]
struct Starter {
    pid: Pid,
    process: OwnedFd,
    ranks: Vec<u32>,
    /// When its ranks must have ended; set once it has.
    until: Option<Instant>,
}

/// The processes that have started ranks of this host.
#[derive(Debug, Default)]
pub(super) struct Starters(Vec<Starter>);

impl Starters {
    fn add(&mut self, rank: u32, (pid, process): (Pid, OwnedFd), events: &Events) {
        if let Some(starter) = self.0.iter_mut().find(|starter| starter.pid == pid) {
            return starter.ranks.push(rank);
        }
        if events.add(&process, Source::Starter(self.0.len() as u32), Ready::IN).is_ok() {
            self.0.push(Starter { pid, process, ranks: vec![rank], until: None });
        }
    }

    /// One of them has ended.
    pub fn handle_end(&mut self, index: u32, now: Instant, events: &Events) {
        if let Some(starter) = self.0.get_mut(index as usize) {
            events.remove(&starter.process);
            starter.until = Some(now + ORPHAN_GRACE);
        }
    }

    /// When [`take_orphans`](Self::take_orphans) has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.iter().filter_map(|starter| starter.until).min()
    }

    /// The ranks whose starters have ended before them, each once.
    fn take_orphans(&mut self, now: Instant) -> Vec<u32> {
        let due = self.0.iter_mut().filter(|starter| starter.until.is_some_and(|until| now >= until));
        due.flat_map(|starter| {
            starter.until = None;
            std::mem::take(&mut starter.ranks)
        })
        .collect()
    }
}

impl HostRanks {
    /// Takes over ranks that run already, which are those of the plan.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn join(plan: Plan, info: JobInfo, ranks: Vec<JoinedRank>, events: &Events) -> io::Result<HostRanks> {
        let mut host_ranks = HostRanks::new(plan, info, Own::default(), events)?;
        for JoinedRank { rank, pid, process, socket, starter } in ranks {
            if let Some(starter) = starter {
                host_ranks.starters.add(rank, starter, events);
            }
            host_ranks.adopted.push(Adopted::new(rank, pid, process, events)?);
            host_ranks.channels.push(ControlChannel::new(Source::Rank(rank), socket, events)?);
            host_ranks.report_started(rank, pid);
        }
        Ok(host_ranks)
    }

    /// Signals the ranks that were not started here, but for those that have finished and been told that all have: how they end is no
    /// matter of the job.
    pub(super) fn signal_adopted(&self, signal: Signal) {
        let may_end = |adopted: &&Adopted| self.over_reported && self.local_ranks.of(adopted.rank).finished;
        self.adopted.iter().filter(|adopted| !may_end(adopted)).for_each(|adopted| adopted.signal(signal));
    }

    /// Kills ranks that have outlived the processes that have started them.
    pub(super) fn end_orphans(&mut self, now: Instant, events: &Events) {
        for rank in self.starters.take_orphans(now) {
            let lives = self.adopted.iter().any(|adopted| adopted.rank == rank);
            if lives && !self.local_ranks.of(rank).finished {
                self.broke_rules(rank, "has outlived the launcher that had started it".into(), events);
            }
        }
    }

    /// Ends once the supervisor has and the ranks that were not started here have too, or their time is over.
    pub(super) fn finish_once_ended(&mut self, now: Instant) {
        let is_due = self.adopted.is_empty() || self.grace_until.is_some_and(|until| now >= until);
        if !self.over
            && is_due
            && let Some(left) = self.left.take()
        {
            self.finish(left);
        }
    }
}
