//! The launcher of a job that another launcher has started waits for the agents of its hosts and for all ranks.
//!
//! Owns the sockets at which agents arrive, and what they have said so far.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

use canele_control::join::{JoinTask, MOST_ADDRESSES};
use canele_control::{RankSet, Socket, VERSION};
use canele_rail::tcp::interfaces::{Interface, choose, interfaces};

use super::proof;
use crate::events::{Events, Ready, Source};
use crate::remote::{FromAgent, Inflow, Outflow, Preamble, Read, ToAgent};
use crate::wording::rank_list;

/// How long a proof may take.
const PROOF_PATIENCE: Duration = Duration::from_secs(5);
/// Connections whose proofs are under way, at most.
const MOST_PROOFS: usize = 256;
/// How long a refusal may take to leave.
const REFUSAL: Duration = Duration::from_secs(1);

/// The agent of one host.
#[derive(Debug)]
pub struct GatheredAgent {
    /// What comes from it.
    pub up: Inflow,
    /// What goes to it.
    pub down: Outflow,
    /// Its host's interfaces, once it has told.
    pub interfaces: Option<Vec<Interface>>,
    /// The name of its host.
    pub name: String,
    /// The ranks that have come there.
    ranks: BTreeSet<u32>,
    has_preamble: bool,
}

impl GatheredAgent {
    /// The ranks of its host that have come.
    pub fn ranks(&self) -> RankSet {
        self.ranks.iter().copied().collect()
    }
}

/// The agents that have come.
pub struct Gathering<'a> {
    begin: &'a JoinTask,
    /// Its end is that of the rank that has started this process.
    starter: &'a Socket,
    listeners: Vec<TcpListener>,
    proofs: Arc<()>,
    sender: Sender<TcpStream>,
    proven: Receiver<TcpStream>,
    /// Readable once something was proven.
    wake: (UnixStream, Arc<UnixStream>),
    agents: Vec<Option<GatheredAgent>>,
    deadline: Option<Instant>,
}

impl<'a> Gathering<'a> {
    /// Listens on this host's interfaces, as far as `rails` names them.
    ///
    /// # Errors
    /// Whatever the system refuses; an interface that there is not.
    pub fn listen(
        begin: &'a JoinTask,
        starter: &'a Socket,
        rails: &str,
        events: &Events,
    ) -> io::Result<Gathering<'a>> {
        let names: Vec<&str> = rails.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        let chosen = choose(&interfaces().unwrap_or_default(), &names);
        let chosen = chosen.map_err(|error| io::Error::other(format!("CANELE_RAILS: {error}")))?;
        let own = IpAddr::from(Ipv4Addr::LOCALHOST);
        let others = chosen.iter().flat_map(Interface::addresses).filter(|address| *address != own);
        let mut listeners = Vec::new();
        for address in std::iter::once(own).chain(others).take(MOST_ADDRESSES) {
            // One that is not usable, as those of a link alone, leaves the others.
            let Ok(listener) = TcpListener::bind((address, 0)) else { continue };
            listener.set_nonblocking(true)?;
            events.add(&listener, Source::JoinListener(listeners.len() as u32), Ready::IN)?;
            listeners.push(listener);
        }
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        events.add(&reader, Source::Joining(0), Ready::IN)?;
        events.add(starter, Source::Joining(1), Ready::IN)?;
        let (sender, proven) = mpsc::channel();
        let wake = (reader, Arc::new(writer));
        Ok(Gathering {
            begin,
            starter,
            listeners,
            proofs: Arc::new(()),
            sender,
            proven,
            wake,
            agents: Vec::new(),
            deadline: None,
        })
    }

    /// Where it listens: on this host first.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.listeners.iter().filter_map(|listener| listener.local_addr().ok()).collect()
    }

    /// Waits until all ranks have come; the agents of their hosts, in the order of their first ranks.
    ///
    /// # Errors
    /// Why the job does not come about, which the agents have been told.
    pub fn run(mut self, events: &Events) -> Result<Vec<GatheredAgent>, String> {
        let gathered = loop {
            let ready = events.wait(self.deadline);
            let handled = ready.into_iter().try_for_each(|(source, _)| self.handle(source, events));
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
        events.remove(&self.wake.0);
        events.remove(self.starter);
        gathered.inspect_err(|why| self.refuse(why, events))
    }

    fn handle(&mut self, source: Source, events: &Events) -> Result<(), String> {
        match source {
            Source::JoinListener(index) => self.accept(index as usize),
            Source::Joining(0) => {
                let mut bytes = [0; 64];
                while rustix::io::read(&self.wake.0, &mut bytes).is_ok_and(|count| count == bytes.len()) {}
                while let Ok(stream) = self.proven.try_recv() {
                    // One that cannot be listened to is missed in time.
                    let _ = self.add(stream, events);
                }
            }
            // The rank says nothing here.
            Source::Joining(_) => return Err("rank 0 has ended".into()),
            Source::Incoming(index) => return self.read(index as usize, events),
            _ => {}
        }
        Ok(())
    }

    /// Strangers may connect; each proof is a thread's, and there are not many.
    fn accept(&self, index: usize) {
        while let Ok((mut stream, _)) = self.listeners[index].accept() {
            if Arc::strong_count(&self.proofs) > MOST_PROOFS {
                continue;
            }
            let (key, sender) = (self.begin.key.clone(), self.sender.clone());
            let (under_way, wake) = (self.proofs.clone(), self.wake.1.clone());
            std::thread::spawn(move || {
                let prove = |stream: &mut TcpStream| {
                    stream.set_nonblocking(false)?;
                    stream.set_read_timeout(Some(PROOF_PATIENCE))?;
                    stream.set_nodelay(true)?;
                    proof::prove_launcher(stream, &key)?;
                    stream.set_nonblocking(true)
                };
                if prove(&mut stream).is_ok() && sender.send(stream).is_ok() {
                    // Full: it is readable anyway.
                    let _ = (&*wake).write(&[0]);
                }
                drop(under_way);
            });
        }
    }

    fn add(&mut self, stream: TcpStream, events: &Events) -> io::Result<()> {
        let index = self.agents.len() as u32;
        let up = Inflow::new(OwnedFd::from(stream.try_clone()?), Source::Incoming(index), events)?;
        let down = Outflow::new(OwnedFd::from(stream), Source::Outgoing(index));
        self.agents.push(Some(GatheredAgent {
            up,
            down,
            interfaces: None,
            name: String::new(),
            ranks: BTreeSet::new(),
            has_preamble: false,
        }));
        Ok(())
    }

    fn read(&mut self, index: usize, events: &Events) -> Result<(), String> {
        let Some(Some(agent)) = self.agents.get_mut(index) else { return Ok(()) };
        match agent.up.read() {
            Read::Nothing => return Ok(()),
            Read::End if !agent.has_preamble => {
                // Another of its connections was faster.
                let Some(agent) = self.agents[index].take() else { return Ok(()) };
                agent.up.close(events);
                return Ok(());
            }
            Read::End => return Err(format!("the agent on {} has ended", agent.name)),
            Read::Some => {}
        }
        if !agent.has_preamble {
            match agent.up.find_preamble(&mut Vec::new()) {
                Preamble::NotYet => return Ok(()),
                Preamble::Noise => return Err("an agent sends noise".into()),
                Preamble::Here(theirs)
                    if (theirs.version, &*theirs.release) != (VERSION, env!("CARGO_PKG_VERSION")) =>
                {
                    return Err(format!(
                        "the agent of canele {} with messages of version {} was started on a host, and the launcher is canele {} with \
                         version {VERSION}: install the same on all hosts",
                        theirs.release,
                        theirs.version,
                        env!("CARGO_PKG_VERSION")
                    ));
                }
                Preamble::Here(_) => agent.has_preamble = true,
            }
        }
        loop {
            let Some(Some(agent)) = self.agents.get_mut(index) else { return Ok(()) };
            let message =
                agent.up.next().map_err(|text| format!("the agent on {} sent {text}", agent.name))?;
            match message {
                None => return Ok(()),
                Some(FromAgent::Interfaces(found)) => agent.interfaces = Some(found),
                Some(FromAgent::Joining { name }) => agent.name = name,
                Some(FromAgent::Joined { rank }) => self.add_rank(index, rank)?,
                Some(FromAgent::Left { rank }) => return Err(format!("rank {rank} has ended")),
                Some(FromAgent::Report(_)) => return Err("an agent sent a report before its task".into()),
            }
        }
    }

    fn add_rank(&mut self, index: usize, rank: u32) -> Result<(), String> {
        let ranks = self.begin.ranks;
        if rank >= ranks || self.agents.iter().flatten().any(|agent| agent.ranks.contains(&rank)) {
            return Err(format!("rank {rank} of {ranks} has come where it cannot be"));
        }
        let patience = Duration::from_millis(self.begin.patience_ms);
        self.deadline.get_or_insert_with(|| Instant::now() + patience);
        if let Some(agent) = &mut self.agents[index] {
            agent.ranks.insert(rank);
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        let come = self.agents.iter().flatten().filter(|agent| agent.interfaces.is_some());
        come.map(|agent| agent.ranks.len()).sum::<usize>() == self.begin.ranks as usize
    }

    /// Which ranks have not come in time.
    fn missing(&self) -> String {
        let come: BTreeSet<u32> =
            self.agents.iter().flatten().flat_map(|agent| agent.ranks.iter().copied()).collect();
        let missing: Vec<u32> = (0..self.begin.ranks).filter(|rank| !come.contains(rank)).collect();
        let seconds = self.begin.patience_ms as f64 / 1e3;
        format!(
            "{} did not come within {seconds} s (CANELE_REMOTE_START_MS allows more): do their hosts reach that of rank 0 by TCP?",
            rank_list(&missing)
        )
    }

    /// By the first ranks of their hosts.
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
