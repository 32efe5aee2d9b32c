//! Agents that have connected to the launcher themselves, because another launcher has started their ranks.
//! Owns their conversion to agents of a job.

use std::collections::VecDeque;
use std::io;
use std::time::Instant;

use canele_control::RankSet;

use super::super::agent::Agent;
use super::super::{Task, rails};
use super::Agents;
use crate::events::{Events, Source};
use crate::host_ranks::Pipes;
use crate::join::GatheredAgent;
use crate::plan::Plan;
use crate::supervisor_handle::SupervisorHandle;

impl Agents {
    /// Gives the agents of all hosts their tasks, in order.
    ///
    /// # Errors
    /// Fails with any error of the system.
    pub fn of_joined(
        gathered: Vec<GatheredAgent>,
        tasks: Vec<Task>,
        rails: String,
        events: &Events,
    ) -> io::Result<Agents> {
        let now = Instant::now();
        let Some(first) = tasks.first() else { return Err(io::Error::other("no hosts")) };
        let names = first.info.hosts.iter().map(|host| host.name.clone()).collect();
        let nothing = Plan { programs: Vec::new(), here: RankSet::default(), ..first.plan.clone() };
        // This supervisor starts no process. It sends beats to the agents while the launcher is stopped.
        let supervisor = SupervisorHandle::start(&nothing, events)?;
        let mut agents = Vec::new();
        for (number, (task, mut gathered)) in (0..).zip(tasks.into_iter().zip(gathered)) {
            gathered.up.rename(Source::Incoming(number), events);
            gathered.down.rename(Source::Outgoing(number));
            let agent = Agent::joined(task, gathered, now);
            if let Some(down) = &agent.down {
                super::start_beats(&supervisor, number, agent.beats_every(), down);
            }
            agents.push(agent);
        }
        let silence = agents.first().map_or_else(Default::default, Agent::silence);
        let mut agents = Agents {
            names,
            supervisor,
            agents,
            to_start: VecDeque::new(),
            is_starting: false,
            pipes: Pipes::new(0),
            start_timeout: silence,
            rails,
            parts: Vec::<Vec<rails::HostRail>>::new(),
            silence,
            ending_until: None,
            closing_until: None,
            closed: false,
            reports: Vec::new(),
            over: false,
        };
        agents.begin_if_all_are_ready(events);
        agents.flush(events);
        Ok(agents)
    }
}
