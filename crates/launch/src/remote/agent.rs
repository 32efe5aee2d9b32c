//! One host's agent as the launcher sees it: its remote shell, its two streams, and its state.
//!
//! Owns the streams. Decides nothing about the job; an impossible message ends the agent.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use canele_control::{JobInfo, RankSet};
use canele_rail::tcp::interfaces::Interface;
use canele_secure::Secret;

use super::frames::{Inflow, MOST_NOISE, Outflow, Preamble, Read};
use super::greeting::{Connection, Version};
use super::heartbeat::{Beat, Heartbeat};
use super::{FromAgent, Task, ToAgent, hosts_key, shell};
use crate::events::Events;
use crate::failure::Exit;
use crate::host_ranks::{Order, Report};
use crate::join::GatheredAgent;

/// The number of bytes waiting for an agent from which on messages of the agent are not read.
const CONGESTED: usize = 4 << 20;
/// The time that the launcher waits for the status of a remote shell after its output has ended.
const STATUS_TIMEOUT: Duration = Duration::from_millis(300);

/// The state of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// No rank was placed on its host yet: nothing is started there.
    Absent,
    /// The launcher waits for its preamble.
    Starting,
    /// The preamble has come, and the launcher waits for the first flight of the handshake.
    Greeting,
    /// The agent waits for its task.
    Ready,
    /// The agent has its task.
    Running,
    /// The agent has made its last report, or the launcher has made it in its place.
    Over,
}

/// One host's agent.
#[derive(Debug)]
pub struct Agent {
    pub(super) state: State,
    task: Task,
    ranks: RankSet,
    /// Ranks that it was told to start later.
    spawned: HashSet<u32>,
    /// True if the agent's host had no ranks at the start of the job.
    pub(super) is_later: bool,
    /// Orders for it until it has its task.
    waiting: Vec<Order>,
    /// The command that started its shell.
    command: String,
    secret: Secret,
    /// True if the agent's shell was started.
    pub(super) has_shell: bool,
    pub(super) up: Option<Inflow>,
    pub(super) down: Option<Outflow>,
    /// The interfaces of its host, once it has sent them.
    found: Option<Vec<Interface>>,
    /// The output of its shell before the agent answered: both streams, and standard error alone.
    printed: Vec<u8>,
    remarks: Vec<u8>,
    /// True once it has its task.
    begun: bool,
    /// The exit of its shell.
    pub(super) exit: Option<Exit>,
    /// The deadline of its answer, or, once its output has ended, of the status of its shell.
    pub(super) until: Option<Instant>,
    heartbeat: Heartbeat,
}

impl Agent {
    /// Returns an agent that has sent nothing yet.
    pub fn new(task: Task, command: String, secret: Secret, now: Instant) -> Agent {
        Agent {
            state: if task.plan.here.is_empty() { State::Absent } else { State::Starting },
            ranks: task.plan.here.clone(),
            is_later: task.plan.here.is_empty(),
            waiting: Vec::new(),
            has_shell: false,
            spawned: HashSet::new(),
            heartbeat: Heartbeat::new(Duration::from_millis(task.silence_ms.into()), now),
            task,
            command,
            secret,
            up: None,
            down: None,
            found: None,
            printed: Vec::new(),
            remarks: Vec::new(),
            begun: false,
            exit: None,
            until: None,
        }
    }

    /// Returns an agent that has connected by itself, with all ranks of its host.
    pub fn joined(task: Task, gathered: GatheredAgent, now: Instant) -> Agent {
        let GatheredAgent { up, down, interfaces, .. } = gathered;
        Agent {
            state: State::Ready,
            up: Some(up),
            down: Some(down),
            found: interfaces,
            ..Agent::new(task, String::new(), Secret::none(), now)
        }
    }

    /// Starts an agent for a host that gets ranks of the job, whose description is now `info`.
    pub fn begin_starting(&mut self, info: &JobInfo, now: Instant) {
        self.state = State::Starting;
        self.task.info = info.clone();
        self.heartbeat = Heartbeat::new(self.silence(), now);
    }

    /// Takes the orders that waited until it has its task.
    pub fn take_waiting(&mut self) -> Vec<Order> {
        std::mem::take(&mut self.waiting)
    }

    /// Returns the interval of the beats of either side.
    pub fn beats_every(&self) -> Duration {
        self.heartbeat.every()
    }

    /// Returns the time for which it may be silent.
    pub fn silence(&self) -> Duration {
        Duration::from_millis(self.task.silence_ms.into())
    }

    /// Reads once. Its reports are added to `reports`.
    ///
    /// # Errors
    /// Fails with the reason why it must be given up.
    pub fn read(&mut self, reports: &mut Vec<Report>, events: &Events) -> Result<Read, String> {
        let Some(up) = &mut self.up else { return Ok(Read::End) };
        let read = up.read();
        match read {
            Read::Some => {
                self.look_for_preamble()?;
                self.shake_hands()?;
                self.take_frames(reports)?;
                if self.up.as_mut().is_some_and(Inflow::lives) {
                    self.heartbeat.hear();
                }
            }
            Read::Nothing => {}
            Read::End => {
                if matches!(self.state, State::Starting | State::Greeting) {
                    self.printed.extend(up.take_rest());
                }
                if let Some(up) = self.up.take() {
                    up.close(events);
                }
                self.wait_for_status();
            }
        }
        Ok(read)
    }

    /// Waits for the status of its shell after its streams have ended.
    pub fn wait_for_status(&mut self) {
        self.until = Some(Instant::now() + STATUS_TIMEOUT);
    }

    fn look_for_preamble(&mut self) -> Result<(), String> {
        let (State::Starting, Some(up)) = (self.state, &mut self.up) else { return Ok(()) };
        match up.find_preamble(&mut self.printed) {
            Preamble::NotYet => Ok(()),
            Preamble::Noise => Err(format!("printed more than {MOST_NOISE} bytes and started no agent")),
            Preamble::Here(theirs) if theirs == Version::own() => {
                self.state = State::Greeting;
                Ok(())
            }
            Preamble::Here(theirs) => {
                let own = Version::own();
                Err(format!(
                    "started the agent of canele {} with messages of version {}, and this is canele {} with version {}: install the same on \
                     all hosts",
                    theirs.release, theirs.version, own.release, own.version
                ))
            }
        }
    }

    /// Answers the first flight. After that both ends have a secure channel.
    fn shake_hands(&mut self) -> Result<(), String> {
        let (State::Greeting, Some(up)) = (self.state, &mut self.up) else { return Ok(()) };
        let Some(flight) = up.take_flight() else { return Ok(()) };
        let (channel, answer) = Connection::Shell.answer(&self.secret, &flight).map_err(|_| {
            let path = hosts_key::path().unwrap_or_default();
            let path = path.display();
            format!("started an agent that does not have this host's key of hosts: put the same file {path} on all hosts, or on none")
        })?;
        up.open_with(channel.opener);
        if let Some(down) = &mut self.down {
            down.begin(&answer);
            down.seal_with(channel.sealer);
        }
        self.state = State::Ready;
        Ok(())
    }

    fn take_frames(&mut self, reports: &mut Vec<Report>) -> Result<(), String> {
        while let (State::Ready | State::Running, Some(up)) = (self.state, &mut self.up) {
            match up.next() {
                Ok(Some(FromAgent::Interfaces(found))) => (self.found, self.until) = (Some(found), None),
                Ok(Some(FromAgent::Report(report))) => {
                    if !self.may_say(&report) {
                        return Err("sent a report that is not an agent's to send".into());
                    }
                    if matches!(report, Report::Empty { .. }) {
                        self.state = State::Over;
                    }
                    reports.push(report);
                }
                Ok(Some(FromAgent::Joining { .. } | FromAgent::Joined { .. } | FromAgent::Left { .. })) => {
                    return Err("sent what an agent sends before its task".into());
                }
                Ok(None) => break,
                Err(text) => return Err(format!("sent {text}")),
            }
        }
        Ok(())
    }

    /// Returns true if the report is about the agent's own ranks.
    fn may_say(&self, report: &Report) -> bool {
        match report {
            Report::Started { rank, .. }
            | Report::NotStarted { rank, .. }
            | Report::Said { rank, .. }
            | Report::SaidOnLane { rank, .. }
            | Report::Broke { rank, .. }
            | Report::Printed { rank, .. }
            | Report::Recorded { rank, .. }
            | Report::RecordedAll { rank, .. }
            | Report::Exited { rank, .. } => self.ranks.contains(*rank) || self.spawned.contains(rank),
            Report::Counted { counts, .. } => {
                let at_start = self.ranks.len() as usize;
                (at_start..=at_start + self.spawned.len()).contains(&counts.len())
            }
            Report::Lost { .. } | Report::Remarked { .. } => false,
            Report::Fed { .. }
            | Report::Clock { .. }
            | Report::Full
            | Report::Failed { .. }
            | Report::SupervisorDied { .. }
            | Report::Empty { .. } => true,
        }
    }

    /// Takes standard error of the agent's shell; returns it for printing once the agent runs.
    pub fn hear_remark(&mut self, bytes: Vec<u8>) -> Option<Report> {
        if self.begun {
            return Some(Report::Remarked { bytes });
        }
        if self.printed.len() <= MOST_NOISE {
            self.printed.extend_from_slice(&bytes);
            self.remarks.extend_from_slice(&bytes);
        }
        None
    }

    /// Returns the interfaces of its host, once it is ready for its task.
    pub fn interfaces(&self) -> Option<&Vec<Interface>> {
        self.found.as_ref().filter(|_| self.state == State::Ready)
    }

    /// Returns all ports of its host.
    pub fn ports(&self) -> Vec<String> {
        self.found.iter().flatten().flat_map(Interface::ports).collect()
    }

    /// Returns the interfaces of its host, as far as they are known.
    pub fn found(&self) -> &[Interface] {
        self.found.as_deref().unwrap_or_default()
    }

    /// Gives the agent its task, with the ports of all hosts' rails. Returns the earlier remarks of its
    /// shell, which are printed because they are no failure.
    pub fn begin(&mut self, rails: &[Vec<Vec<String>>]) -> Report {
        if let Some(network) = &mut self.task.info.network {
            network.rails = rails.to_vec();
        }
        (self.state, self.begun) = (State::Running, true);
        self.send(&ToAgent::Begin(Box::new(self.task.clone())));
        for order in self.take_waiting() {
            self.tell(order);
        }
        Report::Remarked { bytes: std::mem::take(&mut self.remarks) }
    }

    /// Returns true if the agent's preamble or the interfaces of its host have not come.
    pub fn has_not_answered(&self) -> bool {
        matches!(self.state, State::Starting | State::Greeting)
            || self.state == State::Ready && self.found.is_none()
    }

    /// Returns the next time at which [`look`](Self::look) has work.
    pub fn next_beat(&self) -> Option<Instant> {
        let lives = matches!(self.state, State::Ready | State::Running);
        lives.then(|| self.heartbeat.deadline())
    }

    /// Sends a beat if it is due; returns [`Beat::Lost`] if the agent was silent for too long.
    pub fn look(&mut self, now: Instant) -> Beat {
        if self.next_beat().is_none() {
            return Beat::NotYet;
        }
        let beat = self.heartbeat.look(now);
        if self.state == State::Ready {
            // The agent has nothing to send yet; its shell shows that it lives.
            self.heartbeat.hear();
        }
        if let (Beat::Due, Some(down)) = (beat, &mut self.down) {
            down.push_beat();
        }
        beat
    }

    /// Passes on an order; the order waits until the agent has its task.
    pub fn tell(&mut self, order: Order) {
        if self.state != State::Running {
            return self.waiting.push(order);
        }
        if let Order::Spawn { plans, .. } = &order {
            self.spawned.extend(plans.iter().flat_map(|plan| plan.here.iter()));
        }
        self.send(&ToAgent::Order(order));
    }

    fn send(&mut self, message: &ToAgent) {
        if let Some(down) = &mut self.down {
            // A task that is too long was refused before; other messages are short enough.
            let _ = down.push(message);
        }
    }

    /// Writes without waiting, and reads unless too many bytes wait.
    pub fn flush(&mut self, events: &Events) {
        let Some(down) = &mut self.down else { return };
        if down.flush(events).is_err() {
            if let Some(down) = self.down.take() {
                down.close(events);
            }
            // The last messages of the agent are read first.
            self.until.get_or_insert(Instant::now() + STATUS_TIMEOUT);
        } else if let Some(up) = &mut self.up {
            up.watch(down.waiting() < CONGESTED, events);
        }
    }

    /// Returns the text that the agent failed because its shell did `what`.
    pub fn failed(&self, host: &str, what: &str) -> String {
        let printed = shell::last_lines(&self.printed);
        format!("cannot start on host {host}: `{}` {what}{printed}", self.command)
    }

    /// Describes the end of its shell, as far as it is known.
    pub fn how_it_ended(&self) -> String {
        match self.exit {
            Some(exit) => format!("its remote shell {}", shell::ended(exit)),
            None if !self.has_shell => "its agent has ended, or the connection to it".into(),
            None => "its remote shell closed the connection".into(),
        }
    }

    /// Closes the agent's streams; an agent that still runs ends its ranks then.
    pub fn close(&mut self, events: &Events) {
        self.state = State::Over;
        self.until = None;
        if let Some(up) = self.up.take() {
            up.close(events);
        }
        if let Some(down) = self.down.take() {
            down.close(events);
        }
    }
}

#[cfg(test)]
#[path = "agent_tests.rs"]
pub(crate) mod tests;
