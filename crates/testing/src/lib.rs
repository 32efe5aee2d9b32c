//! Jobs whose ranks are all in one process, without a launcher: for tests, and for counting instructions.
//!
//! Ranks are introduced to each other at once. Names do not exist here, and only a rank that is given a
//! region can find it. A rank is dead once the test reports it ([`LocalRank::report_death`]).
#![forbid(unsafe_code)]

use std::net::Ipv4Addr;
use std::ops::Deref;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;

use canele_control::{
    Control, ControlError, FromLauncher, Handed, Host, JobInfo, JobNetwork, OnFailure, PeerInbox,
    RailAddress, RankEnd, RankPlace, Socket, ToLauncher, VERSION,
};
use canele_engine::{Engine, Error, Rank, Region};
use canele_rail::shm::InboxNotifier;
use canele_sys::atomic::AtomicBool;
use canele_sys::atomic::Ordering::{Acquire, Release};
use canele_sys::tunables::Tunables;

/// A rank of a job in this process: its engine, and the launcher's data of it.
pub struct LocalRank {
    engine: Engine,
    // The launcher's end is dropped after the engine, which takes the end of its control socket as the end of
    // the job.
    launcher: LauncherEnd,
}

/// The launcher's end of a rank.
struct LauncherEnd {
    socket: Socket,
    notifier: InboxNotifier,
}

impl LauncherEnd {
    /// Answers a rank that asks if its region is known; returns true if it has asked.
    fn answer_region(&self) -> bool {
        let Ok(Some((ToLauncher::FindRegion { owner, id, .. }, _))) = self.socket.try_receive() else {
            return false;
        };
        let known = FromLauncher::Region { owner, id, found: true };
        self.socket.try_send(&known, &[]).expect("a rank reads what it is told");
        self.notifier.notify();
        true
    }
}

impl Deref for LocalRank {
    type Target = Engine;

    fn deref(&self) -> &Engine {
        &self.engine
    }
}

impl LocalRank {
    /// Allocates a region and answers in the launcher's place; see [`Engine::create_region`].
    ///
    /// # Errors
    /// Fails as [`Engine::create_region`] does.
    pub fn create_region(&self, bytes: usize) -> Result<Arc<Region>, Error> {
        let created = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !created.load(Acquire) && !self.launcher.answer_region() {
                    thread::yield_now();
                }
            });
            let region = self.engine.create_region(bytes);
            created.store(true, Release);
            region
        })
    }

    /// Tells this rank that another one, whose engine is no longer used, was killed.
    pub fn report_death(&self, of: Rank) {
        let message = FromLauncher::Gone { rank: of.0, how: RankEnd::Killed(9) };
        self.launcher.socket.try_send(&message, &[]).expect("a rank reads what it is told");
        self.launcher.notifier.notify();
    }
}

/// Starts a job of `size` ranks on one host.
///
/// # Errors
/// Fails as [`Engine::start`] does.
pub fn start(size: u32, tunables: &Tunables) -> Result<Vec<LocalRank>, Error> {
    start_on_hosts(&[size], tunables)
}

/// Starts a job as if on several hosts with so many ranks each. Ranks of one host share memory; others reach
/// each other by TCP over the loopback address.
///
/// # Errors
/// Fails as [`Engine::start`] does.
pub fn start_on_hosts(hosts: &[u32], tunables: &Tunables) -> Result<Vec<LocalRank>, Error> {
    let job = describe_job(hosts)?;
    let all = 0..job.size;
    let started: Vec<_> =
        all.clone().map(|rank| Started::new(&job, rank, tunables)).collect::<Result<_, _>>()?;
    for rank in all.clone() {
        for other in all.clone().filter(|other| *other != rank) {
            introduce(&job, &started, rank, other);
        }
    }
    Ok(started.into_iter().map(Started::finish).collect())
}

/// Describes a job on hosts with so many ranks each; all hosts are this machine.
fn describe_job(hosts: &[u32]) -> Result<JobInfo, Error> {
    let network = match hosts.len() {
        ..2 => None,
        several => {
            let rails = vec![vec![vec![Ipv4Addr::LOCALHOST.to_string()]]; several];
            Some(JobNetwork { rails, ..JobNetwork::draw().map_err(ControlError::from)? })
        }
    };
    let job = JobInfo::new(hosts.iter().map(|ranks| Host::this(*ranks)).collect());
    Ok(JobInfo { id: 1, processors: job.size, on_failure: OnFailure::Continue, network, ..job })
}

/// Tells rank `to` the address of rank `of`.
fn introduce(job: &JobInfo, started: &[Started], of: u32, to: u32) {
    let (rank, member) = (of, &started[of as usize]);
    let (message, descriptors) = match job.host_of(of) == job.host_of(to) {
        true => {
            let peers = vec![PeerInbox { rank, has_event: member.inbox.event.is_some() }];
            (FromLauncher::Peers { peers }, member.inbox.descriptors())
        }
        false => (FromLauncher::Reach { rank, rails: member.addresses.clone() }, Vec::new()),
    };
    let sent = started[to as usize].socket.try_send(&message, &descriptors);
    sent.expect("the socket of a new rank has room for all its peers");
}

/// A rank that has sent its addresses.
struct Started {
    engine: Engine,
    socket: Socket,
    inbox: Handed,
    addresses: Vec<RailAddress>,
}

impl Started {
    fn new(job: &JobInfo, rank: u32, tunables: &Tunables) -> Result<Self, Error> {
        let (socket, of_rank) = Socket::pair().map_err(ControlError::from)?;
        // The queue holds the answer before the rank asks.
        let welcome = FromLauncher::Welcome { version: VERSION };
        let described = job.write().map_err(ControlError::Job)?;
        socket.try_send(&welcome, &[described.as_fd()]).expect("an empty queue has room");
        let here = job.ranks_of(job.host_of(rank));
        let (local_rank, local_size) = (here.place(rank).expect("a rank is on its host"), here.len());
        let place = RankPlace { rank, size: job.size, local_rank, local_size };
        let engine = Engine::join(tunables, Some(Control::new(place, of_rank.into())))?;
        let (mut inbox, mut addresses) = (None, Vec::new());
        while let Ok(Some((message, handed))) = socket.try_receive::<ToLauncher>() {
            match message {
                ToLauncher::Inbox { .. } => inbox = handed,
                ToLauncher::Addresses { rails } => addresses = rails,
                _ => {}
            }
        }
        let inbox = inbox.expect("a rank that has started has handed its inbox over");
        Ok(Self { engine, socket, inbox, addresses })
    }

    /// Makes the rank read its messages.
    fn finish(self) -> LocalRank {
        let Handed { memory, event } = self.inbox;
        let notifier = InboxNotifier::map(memory, event).expect("the inbox of a rank of this process");
        notifier.notify();
        LocalRank { engine: self.engine, launcher: LauncherEnd { socket: self.socket, notifier } }
    }
}
