//! Deadlines of the agents: beats, missing answers, shells that outlive their agents.

use std::time::{Duration, Instant};

use super::super::agent::Agent;
use super::super::heartbeat::Beat;
use super::Agents;
use crate::events::Events;
use crate::supervisor::ToSupervisor;
use crate::supervisor_handle;

/// The time that shells have to end by themselves after their agents.
const CLOSING: Duration = Duration::from_millis(500);
impl Agents {
    /// Returns the next time at which [`check`](Self::check) has work.
    pub fn deadline(&self) -> Option<Instant> {
        let agents = self.agents.iter().flat_map(|agent| [agent.next_beat(), agent.until]);
        let all = [self.closing_until, self.ending_until.filter(|_| self.is_open()), self.pipes.deadline()];
        agents.chain(all).flatten().min()
    }

    /// Handles deadlines that have passed.
    pub fn check(&mut self, now: Instant, events: &Events) {
        self.pipes.look(now);
        for host in 0..self.agents.len() {
            self.check_agent(host, now, events);
        }
        if self.ending_until.is_some_and(|until| now >= until) {
            for host in 0..self.agents.len() {
                self.give_up(host, "did not say in time that everything has ended", events);
            }
        }
        if !self.is_open() && !self.over {
            self.check_shells(now, events);
        }
    }

    fn check_agent(&mut self, host: usize, now: Instant, events: &Events) {
        let agent = &mut self.agents[host];
        if agent.until.is_some_and(|until| now >= until) {
            if agent.has_not_answered() && agent.up.is_some() && agent.exit.is_none() {
                let seconds = self.start_timeout.as_secs_f64();
                return self.give_up(host, &format!("did not answer within {seconds} s"), events);
            }
            agent.until = None;
            return self.conclude(host, events);
        }
        match agent.look(now) {
            Beat::NotYet | Beat::Due => {}
            Beat::Lost => {
                let seconds = self.silence.as_secs_f64();
                self.lose(host, format!("nothing was heard of it for {seconds} s"), events);
            }
        }
    }

    /// Ends the shells after their agents. At first it waits for shells to end by themselves.
    fn check_shells(&mut self, now: Instant, events: &Events) {
        let until = *self.closing_until.get_or_insert(now + CLOSING);
        let ended = |agent: &Agent| agent.exit.is_some();
        let all_ended = self.agents.iter().filter(|agent| agent.has_shell).all(ended);
        if self.closed {
            if now >= until {
                self.take_over(events);
            }
        } else if all_ended || now >= until {
            self.closed = true;
            self.closing_until = Some(now + supervisor_handle::ENDING_TIMEOUT);
            (0..self.agents.len()).for_each(|host| self.close_streams(host, events));
            self.supervisor.send(&ToSupervisor::End { grace_ms: 0 }, &[]);
        }
    }
}
