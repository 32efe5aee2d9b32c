//! The agents of a job. Their remote shells are started, and agents get their tasks when all have answered.
//! The launcher reads their reports and gives up silent agents.
//!
//! Owns the supervisor of the shells: like ranks on one machine, no shell outlives the launcher. The launcher
//! decides the effect of a lost host.

mod beginning;
mod due;
mod joined;

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use canele_control::RankSet;
use rustix::pipe::{PipeFlags, pipe_with};

use super::agent::{Agent, State};
use super::frames::{Inflow, Outflow, Read};
use super::{RemoteShell, Task, hosts_key, rails, shell};
use crate::events::{Events, Source, Stream};
use crate::failure::Exit;
use crate::host_ranks::{Order, Pipes, Report};
use crate::plan::{Plan, Program};
use crate::supervisor::{FromSupervisor, ToSupervisor};
use crate::supervisor_handle::{self, SupervisorHandle};

/// The time that an agent has, beyond that of its supervisor, to report that its ranks have ended.
const TRAVEL: Duration = Duration::from_millis(500);
/// The most consecutive reads of an agent's data before its shell's end is handled.
const LAST_READS: u32 = 1024;

/// All agents of a job.
#[derive(Debug)]
pub struct Agents {
    names: Vec<String>,
    supervisor: SupervisorHandle,
    agents: Vec<Agent>,
    /// Hosts whose shells are not started yet, one after the other; true while one is being started.
    to_start: VecDeque<usize>,
    is_starting: bool,
    /// Standard error of the shells, by host.
    pipes: Pipes,
    start_timeout: Duration,
    /// The names of the interfaces to be used.
    rails: String,
    /// Each host's part of each rail, once it is known.
    parts: Vec<Vec<rails::HostRail>>,
    silence: Duration,
    /// The deadline for the agents to end everything; set once they are ending.
    ending_until: Option<Instant>,
    /// The deadline for the shells to end; set once all agents are over.
    closing_until: Option<Instant>,
    closed: bool,
    reports: Vec<(usize, Report)>,
    over: bool,
}

impl Agents {
    /// Starts the shells of `tasks`, one for each host in order.
    ///
    /// # Errors
    /// Fails with any error of the system.
    pub fn start(
        shell: &RemoteShell,
        tasks: Vec<Task>,
        start_timeout: Duration,
        rails: String,
        events: &Events,
    ) -> io::Result<Agents> {
        let Some(info) = tasks.first().map(|task| task.info.clone()) else {
            return Err(io::Error::other("no hosts"));
        };
        let names: Vec<String> = info.hosts.into_iter().map(|host| host.name).collect();
        let commands: Vec<_> = names.iter().map(|name| shell.command(name, "agent")).collect();
        let now = Instant::now();
        let secret = hosts_key::secret().map_err(io::Error::other)?;
        let agent = |(task, command): (Task, &Vec<_>)| {
            Agent::new(task, shell::as_typed(command), secret.clone(), now)
        };
        let agents: Vec<Agent> = tasks.into_iter().zip(&commands).map(agent).collect();
        let plan = Plan {
            programs: commands.into_iter().map(|command| Program { ranks: 1, command }).collect(),
            here: RankSet::from(0..names.len() as u32),
            environment: Vec::new(),
            directory: None,
            binding: Default::default(),
            report_bindings: false,
            input: Default::default(),
            is_held: false,
            spawned: None,
        };
        let silence = agents.first().map_or(Duration::ZERO, Agent::silence);
        let mut agents = Agents {
            names,
            supervisor: SupervisorHandle::start(&plan, events)?,
            agents,
            to_start: VecDeque::new(),
            is_starting: false,
            pipes: Pipes::new(0),
            start_timeout,
            rails,
            parts: Vec::new(),
            silence,
            ending_until: None,
            closing_until: None,
            closed: false,
            reports: Vec::new(),
            over: false,
        };
        let hosts = 0..agents.agents.len();
        agents.to_start = hosts.filter(|host| agents.agents[*host].state == State::Starting).collect();
        agents.start_next(events);
        Ok(agents)
    }

    fn start_next(&mut self, events: &Events) {
        while !self.is_starting && self.ending_until.is_none() {
            let Some(host) = self.to_start.pop_front() else { return };
            self.is_starting = true;
            if let Err(error) = self.start_shell(host, events) {
                self.is_starting = false;
                self.give_up(host, &format!("could not be started ({error})"), events);
            }
        }
    }

    fn start_shell(&mut self, host: usize, events: &Events) -> io::Result<()> {
        let number = host as u32;
        let (its_input, down) = pipe_with(PipeFlags::CLOEXEC)?;
        let (up, its_output) = pipe_with(PipeFlags::CLOEXEC)?;
        let its_error = self.pipes.open(number, Stream::Error, events)?;
        let agent = &mut self.agents[host];
        agent.has_shell = true;
        agent.up = Some(Inflow::new(up, Source::Incoming(number), events)?);
        agent.down = Some(Outflow::new(down, Source::Outgoing(number)));
        agent.until = Some(Instant::now() + self.start_timeout);
        self.supervisor.send(
            &ToSupervisor::Start { number },
            &[its_input.as_fd(), its_output.as_fd(), its_error.as_fd()],
        );
        Ok(())
    }

    // ---- what comes in --------------------------------------------------------------------------------

    /// Handles a descriptor that is ready.
    pub fn handle(&mut self, source: Source, events: &Events) {
        match source {
            Source::Supervisor => self.handle_supervisor(events),
            Source::Incoming(host) => {
                self.read(host as usize, events);
            }
            Source::Printed(host, stream) => self.pipes.read(host, stream),
            // Messages are written after all events anyway.
            _ => {}
        }
    }

    /// Reads once from a host's agent; returns true if there may be more to read.
    fn read(&mut self, host: usize, events: &Events) -> bool {
        let Some(agent) = self.agents.get_mut(host) else { return false };
        let mut heard = Vec::new();
        let was_ready = agent.state == State::Ready;
        let read = agent.read(&mut heard, events);
        if let (false, State::Ready, Some(down)) = (was_ready, agent.state, &agent.down) {
            // While the stream is open, beats tell the agent that a stopped launcher lives.
            start_beats(&self.supervisor, host as u32, agent.beats_every(), down);
        }
        if heard.iter().any(|report| matches!(report, Report::Recorded { .. })) {
            // All processes there have ended, and the agent sends the recorded events, which may take long.
            let until = Instant::now() + supervisor_handle::ENDING_TIMEOUT + TRAVEL;
            self.ending_until = self.ending_until.map(|before| before.max(until));
        }
        self.reports.extend(heard.into_iter().map(|report| (host, report)));
        match read {
            Ok(read) => {
                self.begin_if_all_are_ready(events);
                if self.agents[host].state == State::Over {
                    // This ends its shell, too.
                    self.close_streams(host, events);
                    return false;
                }
                if read == Read::End && self.agents[host].exit.is_some() {
                    self.conclude(host, events);
                }
                read == Read::Some
            }
            Err(what) => {
                self.give_up(host, &what, events);
                false
            }
        }
    }

    fn handle_supervisor(&mut self, events: &Events) {
        while !self.over {
            match self.supervisor.try_receive() {
                Ok(None) => return,
                Ok(Some(FromSupervisor::Started { .. })) => {
                    self.is_starting = false;
                    self.start_next(events);
                }
                Ok(Some(FromSupervisor::NotStarted { number, reason, .. })) => {
                    self.is_starting = false;
                    self.give_up(number as usize, &format!("could not be started ({reason})"), events);
                    self.start_next(events);
                }
                Ok(Some(FromSupervisor::Exited { number, exit })) => {
                    self.handle_exit(number as usize, exit, events);
                }
                Ok(Some(FromSupervisor::Empty { .. })) => {
                    self.supervisor.collect();
                    self.finish();
                }
                Err(supervisor_handle::Died) => self.take_over(events),
            }
        }
    }

    fn handle_exit(&mut self, host: usize, exit: Exit, events: &Events) {
        self.agents[host].exit = Some(exit);
        // The launcher handles the agent's earlier messages before the end of its shell.
        for _ in 0..LAST_READS {
            if self.agents[host].up.is_none() || !self.read(host, events) {
                break;
            }
        }
        self.pipes.drain(host as u32);
        self.hear_remarks();
        if self.agents[host].up.is_some() {
            self.agents[host].wait_for_status();
        } else {
            self.conclude(host, events);
        }
    }

    fn hear_remarks(&mut self) {
        for print in self.pipes.take() {
            // The printing side drops output that has no reader, so there is always room.
            self.pipes.give_room(print.stream, print.bytes.len() as u32);
            let host = print.from as usize;
            let remark = self.agents[host].hear_remark(print.bytes);
            self.reports.extend(remark.map(|report| (host, report)));
        }
    }

    // ---- ends -----------------------------------------------------------------------------------------

    /// Handles the end of a host's streams.
    fn conclude(&mut self, host: usize, events: &Events) {
        let agent = &self.agents[host];
        match (agent.state, agent.exit) {
            (State::Starting | State::Greeting | State::Ready, Some(exit)) => {
                self.give_up(host, &shell::ended(exit), events)
            }
            (State::Starting | State::Greeting | State::Ready, None) => {
                self.give_up(host, "closed its output and started no agent", events);
            }
            (State::Running, _) => {
                let why = agent.how_it_ended();
                self.lose(host, why, events);
            }
            (State::Absent | State::Over, _) => {}
        }
    }

    /// Gives up an agent that did `what`.
    fn give_up(&mut self, host: usize, what: &str, events: &Events) {
        match self.agents[host].state {
            State::Starting | State::Greeting | State::Ready => {
                self.pipes.drain(host as u32);
                self.hear_remarks();
                let text = self.agents[host].failed(&self.names[host], what);
                if self.agents[host].is_later {
                    // The job goes on without ranks on this host.
                    let waiting = self.agents[host].take_waiting();
                    waiting.into_iter().for_each(|order| self.refuse(host, order, &text));
                    return self.close(host, [Report::Empty { left: Vec::new() }], events);
                }
                let failed = Report::Failed { status: 1, text };
                self.close(host, [failed, Report::Empty { left: Vec::new() }], events);
            }
            State::Running => self.lose(host, format!("its agent {what}"), events),
            State::Absent | State::Over => {}
        }
    }

    fn lose(&mut self, host: usize, why: String, events: &Events) {
        self.close(host, [Report::Lost { why }], events);
    }

    fn close<const N: usize>(&mut self, host: usize, last: [Report; N], events: &Events) {
        self.close_streams(host, events);
        self.supervisor.send(&ToSupervisor::Kill { number: host as u32 }, &[]);
        self.reports.extend(last.map(|report| (host, report)));
    }

    pub(super) fn close_streams(&mut self, host: usize, events: &Events) {
        self.agents[host].close(events);
        self.supervisor.send(&ToSupervisor::StopBeats { number: host as u32 }, &[]);
    }

    /// Takes over for the supervisor of the shells, after it and the shells are gone: agents see their
    /// streams end.
    fn take_over(&mut self, events: &Events) {
        let why =
            format!("the supervisor of the remote shells (process {}) was killed", self.supervisor.pid());
        self.supervisor.take_over();
        for host in 0..self.agents.len() {
            if !matches!(self.agents[host].state, State::Absent | State::Over) {
                self.lose(host, why.clone(), events);
            }
        }
        self.finish();
    }

    fn finish(&mut self) {
        self.pipes.finish();
        self.hear_remarks();
        self.over = true;
    }

    // ---- what the launcher does -----------------------------------------------------------------------

    /// Gives an order to one host.
    pub fn tell(&mut self, host: usize, order: Order, events: &Events) {
        if let Order::End { grace_ms } = order {
            let grace = Duration::from_millis(grace_ms.into());
            self.ending_until = Some(Instant::now() + grace + supervisor_handle::ENDING_TIMEOUT + TRAVEL);
        }
        match self.agents[host].state {
            State::Starting | State::Greeting | State::Ready if matches!(order, Order::End { .. }) => {
                self.close(host, [Report::Empty { left: Vec::new() }], events);
            }
            State::Starting | State::Greeting | State::Ready if !self.agents[host].is_later => {}
            State::Starting | State::Greeting | State::Ready | State::Running => {
                self.agents[host].tell(order)
            }
            State::Absent | State::Over => self.refuse(host, order, "its host was lost"),
        }
    }

    /// Returns each host's part of each rail; empty before all have answered.
    pub fn parts(&self) -> &[Vec<rails::HostRail>] {
        &self.parts
    }

    /// Returns all ports of the host of a job on one host.
    pub fn ports_of_one(&self) -> Vec<String> {
        match &self.agents[..] {
            [agent] => agent.ports(),
            _ => Vec::new(),
        }
    }

    /// Takes the reports since the last call, in order for each host.
    pub fn take_reports(&mut self) -> Vec<(usize, Report)> {
        self.hear_remarks();
        std::mem::take(&mut self.reports)
    }

    /// Returns true if no agent and no shell is left.
    pub fn is_over(&self) -> bool {
        self.over
    }

    fn is_open(&self) -> bool {
        self.agents.iter().any(|agent| !matches!(agent.state, State::Absent | State::Over))
    }

    /// Writes without waiting. Called after everything else.
    pub fn flush(&mut self, events: &Events) {
        self.agents.iter_mut().for_each(|agent| agent.flush(events));
        self.pipes.watch(events);
    }
}

/// Makes the supervisor send beats to the agent on a host while this process is stopped.
fn start_beats(supervisor: &SupervisorHandle, number: u32, every: Duration, down: &Outflow) {
    let every_ms = every.as_millis() as u32;
    if let Some(key) = down.beat_key() {
        supervisor.send(&ToSupervisor::StartBeats { number, every_ms, key }, &[down.fd()]);
    }
}
