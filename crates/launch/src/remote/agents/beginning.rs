//! The distribution of tasks to agents. Agents of the job's start get theirs together, once all have
//! answered. Agents of later hosts get theirs one by one.
//!
//! Owns the agreement on the hosts' rails. It reports every rank that cannot be started because its host
//! cannot be reached.

use std::time::Instant;

use canele_control::JobInfo;

use super::super::agent::State;
use super::super::rails;
use super::Agents;
use crate::events::Events;
use crate::host_ranks::{Order, Report};
use crate::plan::Plan;

/// Hosts, each with its part of each rail.
type PartsOfHosts = Vec<(usize, Vec<rails::HostRail>)>;

impl Agents {
    /// Returns true for a host on which no agent was started yet.
    pub fn is_absent(&self, host: usize) -> bool {
        self.agents[host].state == State::Absent
    }

    /// Prepares a host for ranks of the job, whose description is now `info`. Starts the host's agent, and
    /// returns true, if it has none.
    pub fn start_later(&mut self, host: usize, info: &JobInfo, events: &Events) -> bool {
        let is_first = self.is_absent(host);
        if is_first {
            self.agents[host].begin_starting(info, Instant::now());
            self.to_start.push_back(host);
            self.start_next(events);
        }
        is_first
    }

    /// Gives the agents their tasks once all awaited ones have answered, first those of the start together.
    pub(super) fn begin_if_all_are_ready(&mut self, events: &Events) {
        let present = |host: &usize| !self.agents[*host].is_later;
        let first: Vec<usize> = (0..self.agents.len()).filter(present).collect();
        let agreed = match self.parts.is_empty() {
            true => {
                let found: Option<Vec<_>> =
                    first.iter().map(|host| self.agents[*host].interfaces().cloned()).collect();
                let Some(found) = found else { return };
                let parts = rails::agree(&found, &self.rails, first.len() < self.agents.len());
                parts
                    .map_err(|(at, what)| (first[at], what))
                    .map(|parts| first.into_iter().zip(parts).collect())
            }
            false => self.agree_with_later(),
        };
        match agreed {
            Ok(parts) => self.begin(parts),
            Err((host, what)) => self.give_up(host, &format!("cannot make the rails: {what}"), events),
        }
    }

    /// Returns the later hosts with their parts of each rail, once their agents are ready.
    fn agree_with_later(&self) -> Result<PartsOfHosts, (usize, String)> {
        let is_ready = |host: &usize| self.agents[*host].interfaces().is_some();
        let Some(host) = (0..self.agents.len()).find(is_ready) else { return Ok(Vec::new()) };
        let known = self.agents.iter().zip(&self.parts).filter(|(_, parts)| !parts.is_empty());
        let known: Vec<_> = known.map(|(agent, parts)| (agent.found().to_vec(), parts.clone())).collect();
        let parts = rails::join(&known, self.agents[host].found(), &self.rails);
        parts.map(|parts| vec![(host, parts)]).map_err(|what| (host, what))
    }

    /// Gives agents their tasks; `parts` has their hosts' parts of each rail.
    fn begin(&mut self, parts: PartsOfHosts) {
        self.parts.resize_with(self.agents.len(), Vec::new);
        let begun: Vec<usize> = parts.iter().map(|(host, _)| *host).collect();
        parts.into_iter().for_each(|(host, parts)| self.parts[host] = parts);
        let ports = |host: &Vec<rails::HostRail>| host.iter().map(|part| part.ports.clone()).collect();
        let rails: Vec<_> = self.parts.iter().map(ports).collect();
        for host in begun {
            self.reports.push((host, self.agents[host].begin(&rails)));
        }
    }

    /// Refuses an order for a host that cannot start ranks: the ranks of a spawn are reported as not started.
    pub(super) fn refuse(&mut self, host: usize, order: Order, why: &str) {
        let Order::Spawn { plans, .. } = order else { return };
        let name = |plan: &Plan| plan.programs[0].command[0].to_string_lossy().into_owned();
        let ranks = plans.iter().flat_map(|plan| plan.here.iter().map(|rank| (rank, name(plan))));
        let not_started =
            |(rank, name)| (host, Report::NotStarted { rank, status: 1, name, why: why.to_owned() });
        self.reports.extend(ranks.map(not_started));
    }
}
