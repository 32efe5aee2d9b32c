//! The hosts of a job: this one, or others with an agent on each.
//!
//! Owns which of the two it is. The launcher tells them orders and hears reports, and does not know either.

use std::time::Instant;

use canele_control::JobInfo;
use canele_rail::tcp::interfaces::{Interface, interfaces};

use super::connected::HostRails;
use super::events::{Events, Ready, Source};
use super::host_ranks::{HostRanks, Order, Report};
use super::remote::{Agents, HostRail};

/// The hosts of a job, with their ranks.
#[derive(Debug)]
pub enum JobHosts {
    /// All ranks are children of this process's supervisor.
    Here(Box<HostRanks>),
    /// Each host has an agent.
    There(Box<Agents>),
}

impl JobHosts {
    /// The ranks of this host, to be changed, if the job has no agents.
    pub fn here_mut(&mut self) -> Option<&mut HostRanks> {
        match self {
            JobHosts::Here(host_ranks) => Some(host_ranks),
            JobHosts::There(_) => None,
        }
    }

    /// Something is ready.
    pub fn handle(&mut self, source: Source, ready: Ready, events: &Events) {
        match self {
            JobHosts::Here(host_ranks) => host_ranks.handle(source, ready, events),
            JobHosts::There(agents) => agents.handle(source, events),
        }
    }

    /// True of a host where no agent was started yet.
    pub fn is_absent(&self, host: usize) -> bool {
        match self {
            JobHosts::Here(_) => false,
            JobHosts::There(agents) => agents.is_absent(host),
        }
    }

    /// A host gets ranks of the job, which is by now as `info` says; says whether it had none before.
    pub fn start_later(&mut self, host: usize, info: &JobInfo, events: &Events) -> bool {
        match self {
            JobHosts::Here(_) => false,
            JobHosts::There(agents) => agents.start_later(host, info, events),
        }
    }

    /// Gives an order to one host.
    pub fn tell(&mut self, host: usize, order: Order, events: &Events) {
        match self {
            JobHosts::Here(host_ranks) => host_ranks.obey(order, events),
            JobHosts::There(agents) => agents.tell(host, order, events),
        }
    }

    /// What happened since the last call, in order for each host.
    pub fn take_reports(&mut self) -> Vec<(usize, Report)> {
        match self {
            JobHosts::Here(host_ranks) => {
                host_ranks.take_reports().into_iter().map(|report| (0, report)).collect()
            }
            JobHosts::There(agents) => agents.take_reports(),
        }
    }

    /// What each host has of each rail; none where there is one host, or before all have answered.
    pub fn parts(&self) -> &[Vec<HostRail>] {
        match self {
            JobHosts::Here(_) => &[],
            JobHosts::There(agents) => agents.parts(),
        }
    }

    /// True if other jobs may be connected with this one: where agents run, they must have answered.
    pub fn is_ready(&self) -> bool {
        matches!(self, JobHosts::Here(_)) || !self.parts().is_empty()
    }

    /// The rails of each host with an agent.
    pub fn rails(&self) -> Vec<HostRails> {
        let ports = |host: &Vec<HostRail>| host.iter().map(|part| part.ports.clone()).collect();
        self.parts().iter().map(ports).collect()
    }

    /// All ports of the host of a job that has one.
    pub fn ports_of_one(&self) -> Vec<String> {
        match self {
            JobHosts::Here(_) => interfaces().unwrap_or_default().iter().flat_map(Interface::ports).collect(),
            JobHosts::There(agents) => agents.ports_of_one(),
        }
    }

    /// Whether nothing is left of any.
    pub fn is_over(&self) -> bool {
        match self {
            JobHosts::Here(host_ranks) => host_ranks.is_over(),
            JobHosts::There(agents) => agents.is_over(),
        }
    }

    /// When [`check`](Self::check) next has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        match self {
            JobHosts::Here(host_ranks) => host_ranks.deadline(),
            JobHosts::There(agents) => agents.deadline(),
        }
    }

    /// Does what is due.
    pub fn check(&mut self, now: Instant, events: &Events) {
        match self {
            JobHosts::Here(host_ranks) => host_ranks.check(now, events),
            JobHosts::There(agents) => agents.check(now, events),
        }
    }

    /// Sends on what waits. To be called after everything else.
    pub fn flush(&mut self, events: &Events) {
        match self {
            JobHosts::Here(host_ranks) => host_ranks.flush(events),
            JobHosts::There(agents) => agents.flush(events),
        }
    }
}
