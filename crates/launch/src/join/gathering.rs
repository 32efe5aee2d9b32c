//! The start of a job whose ranks another launcher has started: the job's own launcher waits for the agents
//! of the hosts and for all ranks.
//!
//! Owns the sockets at which agents arrive, and their messages before the job begins.

use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use canele_control::join::{JoinTask, MOST_ADDRESSES};
use canele_control::{RankSet, Socket};
use canele_rail::tcp::interfaces::{Interface, choose, interfaces, names_in};
use canele_sys::tunables::Tunables;

use super::newcomers::{FIRST_PLACE, Greeted, MOST_NEWCOMERS, Newcomers};
use super::secret_of_agents;
use crate::events::{Events, Ready, Source};
use crate::remote::{FromAgent, Inflow, Outflow, Read, ToAgent};
use crate::wording::rank_list;

/// The most connections that are accepted before other events are handled.
const MOST_ACCEPTED: usize = 64;
/// The time that a refusal has to leave.
const REFUSAL: Duration = Duration::from_secs(1);

/// The rank that has started this process.
const STARTER: Source = Source::Joining(0);

/// The agent of one host.
#[derive(Debug)]
pub struct GatheredAgent {
    /// The stream from it.
    pub up: Inflow,
    /// The stream to it.
    pub down: Outflow,
    /// The interfaces of the agent's host, once the agent has sent them.
    pub interfaces: Option<Vec<Interface>>,
    /// The name of its host.
    pub name: String,
    /// The number of processors that the ranks there may use.
    processors: u32,
    /// The ranks that have come there.
    ranks: BTreeSet<u32>,
    /// The deadline of the agent's first message. That message proves that the agent's first flight was no
    /// replay.
    silent_until: Option<Instant>,
}

impl GatheredAgent {
    /// Returns the number of processors that each of the agent's ranks has for itself.
    pub fn processors_of_each(&self) -> u32 {
        self.processors / (self.ranks.len() as u32).max(1)
    }

    /// Returns the ranks of its host that have come.
    pub fn ranks(&self) -> RankSet {
        self.ranks.iter().copied().collect()
    }
}

/// The agents that have come.
pub struct Gathering<'a> {
    begin: &'a JoinTask,
    /// The socket to the rank that has started this process; it closes when that rank ends.
    starter: &'a Socket,
    listeners: Vec<TcpListener>,
    newcomers: Newcomers,
    agents: Vec<Option<GatheredAgent>>,
    deadline: Option<Instant>,
}

impl<'a> Gathering<'a> {
    /// Listens on the interfaces of this host that the tunables name.
    ///
    /// # Errors
    /// Fails with any error of the system, or if an interface does not exist.
    pub fn listen(
        begin: &'a JoinTask,
        starter: &'a Socket,
        tunables: &Tunables,
        events: &Events,
    ) -> io::Result<Gathering<'a>> {
        let chosen = choose(&interfaces().unwrap_or_default(), &names_in(&tunables.rails));
        let chosen = chosen.map_err(|error| io::Error::other(format!("CANELE_RAILS: {error}")))?;
        let own = IpAddr::from(Ipv4Addr::LOCALHOST);
        let others = chosen.iter().flat_map(Interface::addresses).filter(|address| *address != own);
        let mut listeners = Vec::new();
        for address in std::iter::once(own).chain(others).take(MOST_ADDRESSES) {
            // An unusable address, such as a link-local one, does not affect the others.
            let bound = tunables.ports.bind(|port| TcpListener::bind((address, port)));
            let Ok(listener) = bound else { continue };
            listener.set_nonblocking(true)?;
            events.add(&listener, Source::JoinListener(listeners.len() as u32), Ready::IN)?;
            listeners.push(listener);
        }
        events.add(starter, STARTER, Ready::IN)?;
        let newcomers = Newcomers::new(secret_of_agents(&begin.key));
        Ok(Gathering { begin, starter, listeners, newcomers, agents: Vec::new(), deadline: None })
    }

    /// Returns the addresses at which the launcher listens, those on this host first.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Waits until all ranks have joined. Returns the agents of their hosts, in the order of their first
    /// ranks.
    ///
    /// # Errors
    /// Fails with the reason why the job cannot start, after it has sent the agents that reason.
    pub fn run(mut self, events: &Events) -> Result<Vec<GatheredAgent>, String> {
        let gathered = loop {
            let ready = events.wait(self.next_deadline());
            let handled = ready.into_iter().try_for_each(|(source, _)| self.handle(source, events));
            self.close_late(Instant::now(), events);
            let in_time = |(): ()| match self.deadline.is_some_and(|at| Instant::now() >= at) {
                true => Err(self.missing()),
                false => Ok(()),
            };
            match handled.and_then(in_time) {
                Err(why) => break Err(why),
                Ok(()) if self.is_complete() => break Ok(self.take_in_order()),
                Ok(()) => {}
            }
        };
        self.listeners.iter().for_each(|listener| events.remove(listener));
        self.newcomers.close(events);
        self.close_silent(events, |_| true);
        events.remove(self.starter);
        gathered.inspect_err(|why| self.refuse(why, events))
    }

    fn handle(&mut self, source: Source, events: &Events) -> Result<(), String> {
        match source {
            Source::JoinListener(index) => self.accept(index as usize, events),
            // The rank sends nothing here.
            STARTER => return Err("rank 0 has ended".into()),
            Source::Joining(number) => {
                let greeted = self.newcomers.read((number - FIRST_PLACE) as usize, events);
                self.add(greeted, events);
            }
            Source::Incoming(index) => return self.read(index as usize, events),
            _ => {}
        }
        Ok(())
    }

    /// Accepts connections, a bounded number before other events are handled: other processes may connect at
    /// any rate.
    fn accept(&mut self, index: usize, events: &Events) {
        for _ in 0..MOST_ACCEPTED {
            match self.listeners[index].accept() {
                Ok((stream, _)) => {
                    let greeted = self.newcomers.add(stream, Instant::now(), events);
                    self.add(greeted, events);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Too many descriptors are open, or the connection was reset meanwhile.
                Err(_) => self.newcomers.evict_oldest(events),
            }
        }
    }

    /// Keeps a connection that has proven the key. If the connection cannot be watched, it is dropped, and
    /// its agent connects again.
    fn add(&mut self, greeted: Option<Greeted>, events: &Events) {
        let Some(Greeted { stream, channel, answer, until }) = greeted else { return };
        self.make_room(events);
        let index = self.agents.iter().position(Option::is_none).unwrap_or(self.agents.len());
        let Ok(input) = stream.try_clone() else { return };
        let Ok(mut up) = Inflow::new(OwnedFd::from(input), Source::Incoming(index as u32), events) else {
            return;
        };
        let mut down = Outflow::new(OwnedFd::from(stream), Source::Outgoing(index as u32));
        up.open_with(channel.opener);
        down.begin(&answer);
        down.seal_with(channel.sealer);
        // If the agent no longer reads, its end is read next.
        let _ = down.flush(events);
        let silent_until = Some(until);
        let agent = GatheredAgent {
            up,
            down,
            interfaces: None,
            name: String::new(),
            processors: 0,
            ranks: BTreeSet::new(),
            silent_until,
        };
        match self.agents.get_mut(index) {
            Some(place) => *place = Some(agent),
            None => self.agents.push(Some(agent)),
        }
    }

    /// Limits the agents that have sent no message, because other processes can replay first flights. A new
    /// agent takes the place of the oldest silent one.
    fn make_room(&mut self, events: &Events) {
        let most = MOST_NEWCOMERS + MOST_ADDRESSES * self.begin.ranks as usize;
        let silent = || self.agents.iter().flatten().filter_map(|agent| agent.silent_until);
        if silent().count() >= most
            && let Some(oldest) = silent().min()
        {
            self.close_silent(events, |until| until <= oldest);
        }
    }

    /// Closes those silent agents whose deadlines `which` selects.
    fn close_silent(&mut self, events: &Events, which: impl Fn(Instant) -> bool) {
        for place in &mut self.agents {
            if let Some(agent) = place.take_if(|agent| agent.silent_until.is_some_and(&which)) {
                agent.up.close(events);
                agent.down.close(events);
            }
        }
    }

    fn close_late(&mut self, now: Instant, events: &Events) {
        self.newcomers.check(now, events);
        self.close_silent(events, |until| now >= until);
    }

    fn next_deadline(&self) -> Option<Instant> {
        let silent = self.agents.iter().flatten().filter_map(|agent| agent.silent_until);
        silent.chain(self.deadline).chain(self.newcomers.deadline()).min()
    }

    fn read(&mut self, index: usize, events: &Events) -> Result<(), String> {
        let Some(Some(agent)) = self.agents.get_mut(index) else { return Ok(()) };
        match agent.up.read() {
            Read::Nothing => return Ok(()),
            // Another connection of this agent was faster.
            Read::End if agent.silent_until.is_some() => {
                self.close_agent(index, events);
                return Ok(());
            }
            Read::End => return Err(format!("the agent on {} has ended", agent.name)),
            Read::Some => {}
        }
        loop {
            let Some(Some(agent)) = self.agents.get_mut(index) else { return Ok(()) };
            let message = match agent.up.next() {
                // The first flight was a replay.
                Err(_) if agent.silent_until.is_some() => {
                    self.close_agent(index, events);
                    return Ok(());
                }
                message => message.map_err(|text| format!("the agent on {} sent {text}", agent.name))?,
            };
            if message.is_some() {
                agent.silent_until = None;
            }
            match message {
                None => return Ok(()),
                Some(FromAgent::Interfaces(found)) => agent.interfaces = Some(found),
                Some(FromAgent::Joining { name }) => agent.name = name,
                Some(FromAgent::Joined { rank, processors }) => {
                    agent.processors = processors;
                    self.add_rank(index, rank)?;
                }
                Some(FromAgent::Left { rank }) => return Err(format!("rank {rank} has ended")),
                Some(FromAgent::Report(_)) => return Err("an agent sent a report before its task".into()),
            }
        }
    }

    fn close_agent(&mut self, index: usize, events: &Events) {
        if let Some(agent) = self.agents[index].take() {
            agent.up.close(events);
            agent.down.close(events);
        }
    }

    fn add_rank(&mut self, index: usize, rank: u32) -> Result<(), String> {
        let ranks = self.begin.ranks;
        if rank >= ranks || self.agents.iter().flatten().any(|agent| agent.ranks.contains(&rank)) {
            return Err(format!("rank {rank} of {ranks} has come where it cannot be"));
        }
        let timeout = Duration::from_millis(self.begin.timeout_ms);
        self.deadline.get_or_insert_with(|| Instant::now() + timeout);
        if let Some(agent) = &mut self.agents[index] {
            agent.ranks.insert(rank);
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        let come = self.agents.iter().flatten().filter(|agent| agent.interfaces.is_some());
        come.map(|agent| agent.ranks.len()).sum::<usize>() == self.begin.ranks as usize
    }

    /// Describes the ranks that have not come in time.
    fn missing(&self) -> String {
        let come: BTreeSet<u32> =
            self.agents.iter().flatten().flat_map(|agent| agent.ranks.iter().copied()).collect();
        let missing: Vec<u32> = (0..self.begin.ranks).filter(|rank| !come.contains(rank)).collect();
        let seconds = self.begin.timeout_ms as f64 / 1e3;
        let mut text = format!(
            "{} did not come within {seconds} s (CANELE_REMOTE_START_MS allows more): do their hosts reach that of rank 0 by TCP?",
            rank_list(&missing)
        );
        if let Some(other) = &self.newcomers.other_version {
            text += &format!(
                " A process of canele {} with messages of version {} has tried: install the same on all hosts",
                other.release, other.version
            );
        }
        text
    }

    /// Takes the agents in the order of their first ranks.
    fn take_in_order(&mut self) -> Vec<GatheredAgent> {
        let mut agents: Vec<GatheredAgent> = std::mem::take(&mut self.agents)
            .into_iter()
            .flatten()
            .filter(|agent| !agent.ranks.is_empty())
            .collect();
        agents.sort_by_key(|agent| agent.ranks.first().copied());
        agents
    }

    fn refuse(&mut self, why: &str, events: &Events) {
        let until = Instant::now() + REFUSAL;
        for agent in self.agents.iter_mut().flatten() {
            agent.down.push(&ToAgent::Refuse { why: why.to_owned() });
            while agent.down.flush(events).is_ok() && agent.down.waiting() > 0 && Instant::now() < until {
                events.wait(Some(until));
            }
        }
    }
}
