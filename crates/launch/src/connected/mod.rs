//! Other jobs of the user that this one is connected with, ports at which its ranks are connected, and names
//! that other jobs find.
//!
//! ```text
//!   job 1                                                        job 2
//!   rank ── ConnectPort ─▶ launcher ── Hello ─────────────────▶ launcher ◀─ Accept ── rank
//!                                   ◀───────────────── Hello ──      each adds the other's ranks
//!                                   ── ConnectPort ───────────▶
//!   rank ◀── Connected ───          ◀──────────── Connected ──  ── Connected ─▶ rank
//!   both ranks want a link: their inboxes and rings go the same way
//! ```
//! If one of the two jobs has hosts of its own (`--hosts`), descriptors do not reach its ranks. They take all
//! ranks of the other job to be on other hosts. Instead of inboxes the launchers then exchange the addresses
//! on which the ranks listen.
//!
//! Two jobs have one link, at most, until one of them ends. The launcher at its other end is not trusted:
//! numbers are checked against the known ranks of its job. A link that breaks the rules is closed, which
//! harms only the ranks behind it.

mod callers;
mod crowded;
mod greeting;
mod link;
mod messages;
mod network;
mod ports;
mod received;
mod services;

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use canele_control::{JobRank, PortName, SEND_AGAIN, SpawnedWorld};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

use super::events::{Events, Ready, Source};
use super::job_elsewhere::Reachable;
use super::launcher::Launcher;
use crowded::CrowdedJobs;
use link::{Flushed, JobLink};
use messages::RankSeries;
pub use messages::ToJob;
pub use network::HostRails;
use ports::Ports;
use services::Services;

/// The most connections that wait at the listener; the system may allow fewer.
const BACKLOG: i32 = 4096;
/// The most connections of other users that are closed in a row.
const STRANGERS_AT_A_TIME: usize = 64;
/// The most links whose other end has not sent Hello.
const MOST_STRANGERS: usize = 64;
/// The time in which a launcher must send Hello.
const HELLO_TIMEOUT: Duration = Duration::from_secs(20);
/// The most messages of one link that are handled before other events.
const AT_A_TIME: usize = 64;
/// The most series of ranks in a Hello.
const MOST_SERIES: usize = 1024;
/// The number of attempts for a link that closes before the Hello: two jobs may begin one at the same time.
const ATTEMPTS: u32 = 8;

/// The launcher's data about other jobs.
#[derive(Debug, Default)]
pub struct ConnectedJobs {
    listener: Option<OwnedFd>,
    links: Vec<Option<JobLink>>,
    ports: Ports,
    services: Services,
    /// The connections that ranks request at ports of other jobs, by their number.
    wanted: HashMap<u64, WantedConnection>,
    last: u64,
    /// Jobs that had no room for a connection.
    crowded: CrowdedJobs,
    /// The hosts of ranks that are reached over sockets, numbered after the hosts of this job. Each is
    /// identified by its job (0 for all jobs without agents) and its number in that job.
    others_hosts: Vec<(u64, u32)>,
    /// The rails on which ranks of this job, which has one host, listen for ranks of other jobs; none before
    /// they have agreed.
    rails: Option<HostRails>,
    /// True if a message could not be sent, and no event reports when it can be.
    held_back: bool,
}

/// A connection that a rank requests at a port of another job.
#[derive(Debug, Clone, Copy)]
struct WantedConnection {
    rank: u32,
    ticket: u64,
    port: PortName,
    is_sent: bool,
    attempts: u32,
}

impl ConnectedJobs {
    /// Listens for other jobs. Without a listener the ranks of this job can only be connected with each
    /// other.
    pub fn listen(job: u64, events: &Events) -> ConnectedJobs {
        let listener = || -> Result<OwnedFd, Errno> {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
            bind(&listener, &link::address(job)?)?;
            listen(&listener, BACKLOG)?;
            events.add(&listener, Source::JobListener, Ready::IN)?;
            Ok(listener)
        };
        ConnectedJobs { listener: listener().ok(), ..ConnectedJobs::default() }
    }

    /// Returns the link to a job, if there is one.
    fn link(&mut self, job: u64) -> Option<&mut JobLink> {
        self.links.iter_mut().flatten().find(|link| link.job == Some(job) && !link.is_closing)
    }

    fn place(&self, job: u64) -> Option<u32> {
        let is_to = |link: &JobLink| link.job == Some(job) && !link.is_closing;
        self.links.iter().position(|link| link.as_ref().is_some_and(is_to)).map(|place| place as u32)
    }

    fn free_place(&mut self) -> u32 {
        let free = self.links.iter().position(Option::is_none);
        free.unwrap_or_else(|| {
            self.links.push(None);
            self.links.len() - 1
        }) as u32
    }

    fn open_links(&mut self) -> impl Iterator<Item = &mut JobLink> {
        self.links.iter_mut().flatten().filter(|link| link.is_open())
    }

    /// Returns the number of a host of another job, counted from 0.
    fn number_host(&mut self, job: u64, host: u32) -> u32 {
        let known = self.others_hosts.iter().position(|other| *other == (job, host));
        known.unwrap_or_else(|| {
            self.others_hosts.push((job, host));
            self.others_hosts.len() - 1
        }) as u32
    }

    /// Sends the connection requests of ranks at ports of a job to which there is an open link.
    fn send_wanted(&mut self, job: u64) {
        let ConnectedJobs { links, wanted, .. } = self;
        let Some(link) = links.iter_mut().flatten().find(|link| link.job == Some(job) && link.is_open())
        else {
            return;
        };
        let mut to_send: Vec<_> =
            wanted.iter_mut().filter(|(_, wanted)| wanted.port.owner.job == job && !wanted.is_sent).collect();
        to_send.sort_by_key(|(number, _)| **number);
        for (number, wanted) in to_send {
            wanted.is_sent = true;
            link.push(ToJob::ConnectPort { ticket: *number, port: wanted.port, by: wanted.rank }, Vec::new());
        }
    }

    /// Returns the next time at which [`Launcher::check_connected`] has work.
    pub fn deadline(&self) -> Option<Instant> {
        let greeting = self.links.iter().flatten().filter_map(|link| link.greeting_until);
        let held_back = self.held_back.then(|| Instant::now() + SEND_AGAIN);
        greeting.chain(self.services.deadline()).chain(self.crowded.deadline()).chain(held_back).min()
    }
}
impl Launcher {
    /// Handles a descriptor of another job that is ready.
    pub(crate) fn handle_connected(&mut self, source: Source) {
        match source {
            Source::JobListener => self.accept_jobs(),
            Source::JobLink(place) => self.read_job(place),
            Source::Announced(place) => self.connected.services.answer(place),
            Source::Search(place) => {
                let found = self.connected.services.handle(place, &self.events);
                self.tell_found(found);
            }
            _ => {}
        }
    }

    /// Tells the other jobs of ranks that this one has spawned.
    pub(crate) fn tell_grown(&mut self, world: &SpawnedWorld) {
        let ranks = RankSeries::new(world.first, world.hosts.iter().copied());
        self.connected
            .open_links()
            .for_each(|link| link.push(ToJob::Grown { ranks: ranks.clone() }, Vec::new()));
    }

    /// Tells the job of rank `of` that rank `by` of this job accepts nothing more from it.
    pub(crate) fn tell_cut_off(&mut self, by: u32, of: u32, what: &str) {
        let JobRank { job, rank } = self.info().process(of);
        if let Some(link) = self.connected.link(job) {
            link.push(ToJob::CutOff { by, of: rank, what: what.to_owned() }, Vec::new());
        }
    }

    /// Sends other jobs their queued messages. Called before messages to ranks are sent.
    pub(crate) fn deliver_to_jobs(&mut self) {
        let introductions = self.hosts.here_mut().map(|here| here.take_introductions());
        for (job, message, descriptors) in introductions.into_iter().flatten() {
            match self.connected.link(job) {
                Some(link) => link.push(message, descriptors),
                None => drop(self.hosts.here_mut().map(|here| here.end_questions_to(job))),
            }
        }
        for Reachable { own, peer, rails } in self.job.take_reachable() {
            let JobRank { job, rank } = self.info().process(peer);
            if let Some(link) = self.connected.link(job) {
                link.push(ToJob::Reach { from: own, to: rank, rails }, Vec::new());
            }
        }
        for (rank, how) in self.job.take_gone() {
            self.connected.open_links().for_each(|link| link.push(ToJob::Gone { rank, how }, Vec::new()));
        }
        // A lost link may be begun again.
        while let Some(lost) = self.flush_links() {
            self.lose_link(lost);
        }
    }

    /// Flushes the links; returns the place of a link that is lost or closed, if there is one.
    fn flush_links(&mut self) -> Option<u32> {
        let ConnectedJobs { links, held_back, .. } = &mut self.connected;
        *held_back = false;
        for (link, place) in links.iter_mut().zip(0..) {
            match link.as_mut().map(|link| link.flush(&self.events)) {
                Some(Flushed::HeldBack) => *held_back = true,
                Some(Flushed::Lost) => return Some(place),
                Some(Flushed::All | Flushed::Full) | None => {}
            }
        }
        None
    }

    /// Handles deadlines that have passed.
    pub(crate) fn check_connected(&mut self, now: Instant) {
        let found = self.connected.services.check(now, &self.events);
        self.tell_found(found);
        for job in self.connected.crowded.take_due(now) {
            self.begin_link(job);
        }
        for place in 0..self.connected.links.len() {
            let late = |link: &JobLink| link.greeting_until.is_some_and(|until| now >= until);
            if let Some(link) = self.connected.links[place].take_if(|link| late(link)) {
                let job = link.job;
                link.close(&self.events);
                if let Some(job) = job {
                    self.refuse_wanted(job, "the job of that port does not answer");
                }
            }
        }
    }
}
