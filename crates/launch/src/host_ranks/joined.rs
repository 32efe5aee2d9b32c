//! Ranks that a launcher of another system has started, and that this host takes over. They are no children
//! of the supervisor, so the host ends them itself.
//!
//! Owns the descriptors that report the ends of their starters. If a starter is killed, no parent ends its
//! ranks.

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

/// The time that a rank may live on after its starter has ended.
const ORPHAN_GRACE: Duration = Duration::from_millis(500);

/// A process that has started ranks.
#[derive(Debug)]
struct Starter {
    pid: Pid,
    process: OwnedFd,
    ranks: Vec<u32>,
    /// The deadline for the end of its ranks; set once it has ended.
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

    /// Handles the end of a starter.
    pub fn handle_end(&mut self, index: u32, now: Instant, events: &Events) {
        if let Some(starter) = self.0.get_mut(index as usize) {
            events.remove(&starter.process);
            starter.until = Some(now + ORPHAN_GRACE);
        }
    }

    /// Returns the next time at which [`take_orphans`](Self::take_orphans) has work.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.iter().filter_map(|starter| starter.until).min()
    }

    /// Returns the ranks whose starters have ended before them, each once.
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
    /// Takes over the ranks of the plan, which run already.
    ///
    /// # Errors
    /// Fails as [`start`](Self::start) does.
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

    /// Signals the ranks that were not started here, except finished ones that know that all have finished:
    /// their end no longer matters to the job.
    pub(super) fn signal_adopted(&self, signal: Signal) {
        let may_end = |adopted: &&Adopted| self.over_reported && self.local_ranks.of(adopted.rank).finished;
        self.adopted.iter().filter(|adopted| !may_end(adopted)).for_each(|adopted| adopted.signal(signal));
    }

    /// Kills ranks that have outlived their starters.
    pub(super) fn end_orphans(&mut self, now: Instant, events: &Events) {
        for rank in self.starters.take_orphans(now) {
            let lives = self.adopted.iter().any(|adopted| adopted.rank == rank);
            if lives && !self.local_ranks.of(rank).finished {
                self.broke_rules(rank, "has outlived the launcher that had started it".into(), events);
            }
        }
    }

    /// Ends once the supervisor and the ranks that were not started here have ended, or their time is over.
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
