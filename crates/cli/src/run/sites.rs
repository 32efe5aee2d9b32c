//! The sites of a job: the one of this process, or one behind an agent on each host.
//!
//! Owns which of the two it is. The launcher tells them orders and hears reports, and does not know either.

use std::time::Instant;

use super::events::{Events, Ready, Source};
use super::remote::{Agents, Part};
use super::site::{Order, Report, Site};

/// All sites of a job.
#[derive(Debug)]
pub enum Sites {
    /// All ranks are children of this process's keeper.
    Here(Box<Site>),
    /// Each host has an agent.
    There(Box<Agents>),
}

impl Sites {
    /// Something is ready.
    pub fn handle(&mut self, source: Source, ready: Ready, events: &Events) {
        match self {
            Sites::Here(site) => site.handle(source, ready, events),
            Sites::There(agents) => agents.handle(source, events),
        }
    }

    /// Tells the site of one host.
    pub fn tell(&mut self, host: usize, order: Order, events: &Events) {
        match self {
            Sites::Here(site) => site.obey(order, events),
            Sites::There(agents) => agents.tell(host, order, events),
        }
    }

    /// What happened since the last call, in order for each host.
    pub fn take_reports(&mut self) -> Vec<(usize, Report)> {
        match self {
            Sites::Here(site) => site.take_reports().into_iter().map(|report| (0, report)).collect(),
            Sites::There(agents) => agents.take_reports(),
        }
    }

    /// What each host has of each rail; none where there is one host, or before all have answered.
    pub fn parts(&self) -> &[Vec<Part>] {
        match self {
            Sites::Here(_) => &[],
            Sites::There(agents) => agents.parts(),
        }
    }

    /// The launcher is about to be stopped, and silent until it continues.
    pub fn pause(&mut self, events: &Events) {
        match self {
            Sites::Here(_) => {}
            Sites::There(agents) => agents.pause(events),
        }
    }

    /// Whether nothing is left of any.
    pub fn is_over(&self) -> bool {
        match self {
            Sites::Here(site) => site.is_over(),
            Sites::There(agents) => agents.is_over(),
        }
    }

    /// When [`check`](Self::check) next has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        match self {
            Sites::Here(site) => site.deadline(),
            Sites::There(agents) => agents.deadline(),
        }
    }

    /// Does what is due.
    pub fn check(&mut self, now: Instant, events: &Events) {
        match self {
            Sites::Here(site) => site.check(now, events),
            Sites::There(agents) => agents.check(now, events),
        }
    }

    /// Sends on what waits. To be called after everything else.
    pub fn flush(&mut self, events: &Events) {
        match self {
            Sites::Here(site) => site.flush(events),
            Sites::There(agents) => agents.flush(events),
        }
    }
}
