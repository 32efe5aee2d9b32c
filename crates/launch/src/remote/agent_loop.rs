//! `canele agent`: the launcher's representative on a host. Runs the ranks there and passes on orders and
//! reports.
//!
//! Owns the two streams to the launcher. Ends every process of its host if the launcher is gone, or silent
//! for too long, or if the stream holds an impossible message.

use std::io::{self, IsTerminal, Write};
use std::net::TcpStream;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use canele_rail::tcp::interfaces::interfaces;
use canele_secure::{Initiator, KeyPurpose, SecureChannel, derive_key};
use canele_sys::{printable, signals, topology};
use rustix::system::uname;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use super::frames::{Inflow, Outflow, Read};
use super::greeting::Connection;
use super::heartbeat::{Beat, Heartbeat};
use super::{FromAgent, Task, ToAgent, hosts_key};
use crate::binding::Binding;
use crate::events::{Events, Ready, Source};
use crate::host_ranks::{HostRanks, Order, Own, Report};
use crate::join::{Arrival, Arrivals};
use crate::own_line::say_at_once;
use crate::start::check_limits;

/// The number of bytes waiting for the launcher from which on messages of ranks are not read.
const CONGESTED: usize = 256 * 1024;
/// The time for which the launcher may be silent before it has sent the task, which sets another time.
const TASK_SILENCE: Duration = Duration::from_secs(60);
/// The time that the last reports have to leave.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// Runs an agent. Its standard input and output lead to the launcher.
///
/// # Errors
/// Fails if no launcher started this process.
pub fn serve_host() -> io::Result<()> {
    signals::set_aside_inherited();
    AgentLoop::new()?.run();
    Ok(())
}

/// Runs an agent for ranks that another launcher has started and that come to join their job.
///
/// # Errors
/// Fails with any error of the system.
pub fn serve_joined(
    (launcher, channel): (TcpStream, SecureChannel),
    arrivals: Arrivals,
    events: Events,
) -> io::Result<()> {
    let output = launcher.try_clone()?;
    let mut agent = AgentLoop::over(launcher.into(), output.into(), events)?;
    agent.speak_through(channel);
    agent.tell(&FromAgent::Joining { name: uname().nodename().to_string_lossy().into_owned() });
    // The launcher sends nothing while it waits for ranks of all hosts.
    let silence = TASK_SILENCE + Duration::from_millis(arrivals.begin.timeout_ms);
    agent.heartbeat = Some(Heartbeat::new(silence, Instant::now()));
    agent.arrivals = Some(arrivals);
    agent.run();
    Ok(())
}

struct AgentLoop {
    events: Events,
    /// The streams from and to the launcher; `None` once it is gone.
    streams: Option<(Inflow, Outflow)>,
    /// The handshake, until the launcher has answered the first flight.
    initiator: Option<Initiator>,
    heartbeat: Option<Heartbeat>,
    /// The deadline for the last reports to leave.
    until: Option<Instant>,
    host_ranks: Option<HostRanks>,
    /// Ranks that another launcher has started, until the job begins.
    arrivals: Option<Arrivals>,
    /// True if the task was refused.
    refused: bool,
}

impl AgentLoop {
    fn new() -> io::Result<AgentLoop> {
        let (input, output) = (io::stdin(), io::stdout());
        if input.is_terminal() {
            return Err(io::Error::other("its standard input and output lead to a launcher"));
        }
        if output.is_terminal() {
            // In raw mode a batch system's terminal does not change the bytes, and passes them on before a
            // line ends.
            let mut modes = tcgetattr(&output)?;
            modes.make_raw();
            tcsetattr(&output, OptionalActions::Now, &modes)?;
        }
        let streams = (input.as_fd().try_clone_to_owned()?, output.as_fd().try_clone_to_owned()?);
        let secret = hosts_key::secret().map_err(io::Error::other)?;
        let (initiator, greeting) = Connection::Shell.greet(&secret).map_err(io::Error::other)?;
        let mut agent = AgentLoop::over(streams.0, streams.1, Events::new()?)?;
        agent.initiator = Some(initiator);
        if let Some((_, out)) = &mut agent.streams {
            out.begin(&greeting);
        }
        Ok(agent)
    }

    /// Returns an agent over these two streams.
    fn over(input: OwnedFd, output: OwnedFd, events: Events) -> io::Result<AgentLoop> {
        let up = Inflow::new(input, Source::Incoming(0), &events)?;
        let mut down = Outflow::new(output, Source::Outgoing(0));
        // Without any interface the job may still run if its ranks never communicate across hosts.
        down.push(&FromAgent::Interfaces(interfaces().unwrap_or_default()));
        Ok(AgentLoop {
            events,
            streams: Some((up, down)),
            initiator: None,
            heartbeat: Some(Heartbeat::new(TASK_SILENCE, Instant::now())),
            until: None,
            host_ranks: None,
            arrivals: None,
            refused: false,
        })
    }

    fn run(mut self) {
        self.flush();
        while !self.is_over() {
            for (source, ready) in self.events.wait(self.deadline()) {
                self.handle(source, ready);
            }
            self.check(Instant::now());
            self.pass_on();
            self.flush();
        }
    }

    fn is_over(&self) -> bool {
        let host_is_over = self.host_ranks.as_ref().is_none_or(HostRanks::is_over);
        match &self.streams {
            None => host_is_over,
            Some((_, out)) => {
                (self.host_ranks.is_some() && host_is_over || self.refused) && out.waiting() == 0
            }
        }
    }

    fn handle(&mut self, source: Source, ready: Ready) {
        match source {
            Source::Incoming(_) => self.hear(),
            Source::Outgoing(_) => {}
            Source::JoinListener(_) | Source::Joining(_) => {
                let Some(arrivals) = &mut self.arrivals else { return };
                let come = arrivals.handle(source, &self.events);
                let processors = arrivals.processors();
                for arrival in come {
                    self.tell(&match arrival {
                        Arrival::Joined(rank) => FromAgent::Joined { rank, processors },
                        Arrival::Left(rank) => FromAgent::Left { rank },
                    });
                }
            }
            _ => {
                if let Some(host_ranks) = &mut self.host_ranks {
                    host_ranks.handle(source, ready, &self.events);
                }
            }
        }
    }

    // ---- the launcher ---------------------------------------------------------------------------------

    fn hear(&mut self) {
        let Some((input, _)) = &mut self.streams else { return };
        match input.read() {
            Read::Nothing => return,
            Read::End => {
                return self.launcher_died("its connection has ended: it was killed, or ran out of memory");
            }
            Read::Some => {}
        }
        if let Err(_refused) = self.shake_hands() {
            return self.launcher_gone();
        }
        while let Some((input, _)) = &mut self.streams {
            match input.next() {
                Ok(Some(message)) => {
                    self.launcher_lives();
                    self.obey(message);
                }
                Ok(None) => return self.launcher_lives(),
                // The launcher is of the same release: a message that cannot be opened or decoded is not from
                // it.
                Err(text) => {
                    let why = format!(
                        "what the launcher of its job said was changed on its way: its agent got {text}"
                    );
                    self.arrivals.take().into_iter().for_each(|arrivals| arrivals.refuse(&why));
                    return self.launcher_gone();
                }
            }
        }
    }

    /// Takes the launcher's answer to the first flight, once it has come.
    fn shake_hands(&mut self) -> Result<(), canele_secure::Refused> {
        let (Some((input, _)), Some(_)) = (&mut self.streams, &self.initiator) else { return Ok(()) };
        let Some(answer) = input.take_flight() else { return Ok(()) };
        let Some(initiator) = self.initiator.take() else { return Ok(()) };
        self.speak_through(initiator.handle_answer(&answer)?.0);
        Ok(())
    }

    fn speak_through(&mut self, channel: SecureChannel) {
        if let Some((input, out)) = &mut self.streams {
            input.open_with(channel.opener);
            out.seal_with(channel.sealer);
        }
    }

    /// Resets the heartbeat if data of the launcher has come.
    fn launcher_lives(&mut self) {
        if let (Some((input, _)), Some(heartbeat)) = (&mut self.streams, &mut self.heartbeat)
            && input.lives()
        {
            heartbeat.hear();
        }
    }

    fn obey(&mut self, message: ToAgent) {
        match message {
            ToAgent::Begin(task) if self.host_ranks.is_none() && !self.refused => {
                let silence = Duration::from_millis(task.silence_ms.into());
                self.heartbeat = Some(Heartbeat::new(silence, Instant::now()));
                let name = task.info.hosts.get(task.host as usize);
                let name = name.map_or(String::new(), |host| host.name.clone());
                if let Err(text) = self.begin(*task) {
                    let text = format!("cannot start on host {name}: {text}");
                    self.refused = true;
                    self.until = Some(Instant::now() + LAST_WORDS);
                    self.say(Report::Failed { status: 1, text });
                    self.say(Report::Empty { left: Vec::new() });
                }
            }
            ToAgent::Begin(_) => self.launcher_gone(),
            ToAgent::Refuse { why } => {
                self.arrivals.take().into_iter().for_each(|arrivals| arrivals.refuse(&why));
                self.launcher_gone();
            }
            ToAgent::Order(order) => {
                if let Some(host_ranks) = &mut self.host_ranks {
                    host_ranks.obey(order, &self.events);
                }
            }
        }
    }

    /// Starts the ranks of this host.
    fn begin(&mut self, task: Task) -> Result<(), String> {
        let Task { mut plan, mut info, bind, .. } = task;
        if !plan.is_sound() || info.size != plan.size() {
            return Err("the launcher's plan makes no sense".into());
        }
        check_limits(plan.here.len())?;
        let chosen = Binding::choose(&bind, plan.here.len())?;
        plan.binding = chosen.binding;
        self.events.close_arrivals(chosen.claims.sockets);
        if let Some(remark) = chosen.remark {
            // The launcher prints an agent's standard error there, under the name of the host.
            let _ = writeln!(io::stderr(), "canele: {}", printable::line(&remark));
        }
        let host_ranks = match self.arrivals.take() {
            None => {
                info.processors = topology::usable();
                HostRanks::start(plan, info, Own::default(), &self.events)
            }
            Some(arrivals) => {
                info.processors = arrivals.processors();
                if let Some(network) = &mut info.network {
                    // The ranks prove to each other with this key that they are of the job; it is never sent.
                    network.key = derive_key(KeyPurpose::JoiningRanks, &arrivals.begin.key[..]);
                }
                let ranks = arrivals.begin(&plan.here, &self.events)?;
                HostRanks::join(plan, info, ranks, &self.events)
            }
        };
        let host_ranks = host_ranks.map_err(|error| error.to_string())?;
        if let (Some((_, out)), Some(heartbeat)) = (&self.streams, &self.heartbeat) {
            out.beat_key()
                .into_iter()
                .for_each(|key| host_ranks.start_beats(out.fd(), key, heartbeat.every()));
        }
        self.host_ranks = Some(host_ranks);
        Ok(())
    }

    fn say(&mut self, report: Report) {
        self.tell(&FromAgent::Report(report));
    }

    fn tell(&mut self, message: &FromAgent) {
        if let Some((_, out)) = &mut self.streams
            && !out.push(message)
        {
            // No report of a host is that long.
            self.launcher_gone();
        }
    }

    /// Reports that the launcher has ended before the ranks here; the launcher cannot report its own end.
    fn launcher_died(&mut self, how: &str) {
        let runs = self.host_ranks.as_ref().is_some_and(|host_ranks| !host_ranks.is_over());
        if runs && self.streams.is_some() {
            let host = uname();
            say_at_once(&format!(
                "the job's launcher is gone: {how}; ending the ranks of host {}",
                host.nodename().to_string_lossy()
            ));
        }
        self.launcher_gone();
    }

    /// Ends the ranks, because the launcher is gone.
    fn launcher_gone(&mut self) {
        let Some((input, out)) = self.streams.take() else { return };
        input.close(&self.events);
        out.close(&self.events);
        self.heartbeat = None;
        self.until = None;
        if let Some(host_ranks) = &mut self.host_ranks {
            host_ranks.obey(Order::End { grace_ms: 0 }, &self.events);
        }
        let arrivals = self.arrivals.take();
        arrivals.into_iter().for_each(|arrivals| arrivals.refuse("the launcher of its job has ended"));
    }

    // ---- time -----------------------------------------------------------------------------------------

    fn deadline(&self) -> Option<Instant> {
        let host_ranks = self.host_ranks.as_ref().and_then(HostRanks::deadline);
        [host_ranks, self.until, self.heartbeat.as_ref().map(Heartbeat::deadline)].into_iter().flatten().min()
    }

    fn check(&mut self, now: Instant) {
        if let Some(host_ranks) = &mut self.host_ranks {
            host_ranks.check(now, &self.events);
        }
        match self.heartbeat.as_mut().map(|heartbeat| heartbeat.look(now)) {
            Some(Beat::Due) => {
                if let Some((_, out)) = &mut self.streams {
                    out.push_beat();
                }
            }
            Some(Beat::Lost) => self.launcher_died("nothing is heard of it any more"),
            Some(Beat::NotYet) | None => {}
        }
        if self.until.is_some_and(|until| now >= until) {
            self.launcher_gone();
        }
    }

    /// Sends the host's reports to the launcher.
    fn pass_on(&mut self) {
        let Some(host_ranks) = &mut self.host_ranks else { return };
        let was_over = host_ranks.is_over();
        for report in host_ranks.take_reports() {
            self.say(report);
        }
        if was_over && self.until.is_none() {
            self.until = Some(Instant::now() + LAST_WORDS);
        }
    }

    fn flush(&mut self) {
        let mut congested = false;
        if let Some((_, out)) = &mut self.streams {
            match out.flush(&self.events) {
                Ok(()) => congested = out.waiting() > CONGESTED,
                Err(_) => self.launcher_gone(),
            }
        }
        if let Some(host_ranks) = &mut self.host_ranks {
            host_ranks.set_reading_paused(congested);
            host_ranks.flush(&self.events);
        }
    }
}
