//! The hosts of a job: this one, or others with an agent on each.
//!
//! Owns the choice between the two. The launcher gives orders and takes reports, and does not know the kind.

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
    /// Returns the ranks of this host, to be changed; none if the job has agents.
    pub fn here_mut(&mut self) -> Option<&mut HostRanks> {
        match self {
            JobHosts::Here(host_ranks) => Some(host_ranks),
            JobHosts::There(_) => None,
        }
    }

    /// Handles a descriptor that is ready.
    pub fn handle(&mut self, source: Source, ready: Ready, events: &Events) {
        match self {
            JobHosts::Here(host_ranks) => host_ranks.handle(source, ready, events),
            JobHosts::There(agents) => agents.handle(source, events),
        }
    }

    /// Returns true for a host on which no agent was started yet.
    pub fn is_absent(&self, host: usize) -> bool {
        match self {
            JobHosts::Here(_) => false,
            JobHosts::There(agents) => agents.is_absent(host),
        }
    }

    /// Prepares a host for ranks of the job, whose description is now `info`. Returns true if its agent is
    /// started for them.
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

    /// Takes the reports since the last call, in order for each host.
    pub fn take_reports(&mut self) -> Vec<(usize, Report)> {
        match self {
            JobHosts::Here(host_ranks) => {
                host_ranks.take_reports().into_iter().map(|report| (0, report)).collect()
            }
            JobHosts::There(agents) => agents.take_reports(),
        }
    }

    /// Returns each host's part of each rail; none if there is one host, or before all have answered.
    pub fn parts(&self) -> &[Vec<HostRail>] {
        match self {
            JobHosts::Here(_) => &[],
            JobHosts::There(agents) => agents.parts(),
        }
    }

    /// Returns true if other jobs may be connected with this one: its agents, if any, must have answered.
    pub fn is_ready(&self) -> bool {
        matches!(self, JobHosts::Here(_)) || !self.parts().is_empty()
    }

    /// Returns the rails of each host with an agent.
    pub fn rails(&self) -> Vec<HostRails> {
        let ports = |host: &Vec<HostRail>| host.iter().map(|part| part.ports.clone()).collect();
        self.parts().iter().map(ports).collect()
    }

    /// Returns all ports of the host of a job on one host.
    pub fn ports_of_one(&self) -> Vec<String> {
        match self {
            JobHosts::Here(_) => interfaces().unwrap_or_default().iter().flat_map(Interface::ports).collect(),
            JobHosts::There(agents) => agents.ports_of_one(),
        }
    }

    /// Returns true if no process is left on any host.
    pub fn is_over(&self) -> bool {
        match self {
            JobHosts::Here(host_ranks) => host_ranks.is_over(),
            JobHosts::There(agents) => agents.is_over(),
        }
    }

    /// Returns the next time at which [`check`](Self::check) has work.
    pub fn deadline(&self) -> Option<Instant> {
        match self {
            JobHosts::Here(host_ranks) => host_ranks.deadline(),
            JobHosts::There(agents) => agents.deadline(),
        }
    }

    /// Handles deadlines that have passed.
    pub fn check(&mut self, now: Instant, events: &Events) {
        match self {
            JobHosts::Here(host_ranks) => host_ranks.check(now, events),
            JobHosts::There(agents) => agents.check(now, events),
        }
    }

    /// Sends queued messages on. Called after everything else.
    pub fn flush(&mut self, events: &Events) {
        match self {
            JobHosts::Here(host_ranks) => host_ranks.flush(events),
            JobHosts::There(agents) => agents.flush(events),
        }
    }
}
