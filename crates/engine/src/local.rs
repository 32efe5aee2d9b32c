//! Several ranks in one process, without a launcher: for tests, and for counting instructions.
//!
//! Ranks are introduced to each other at once; names and regions of peers do not exist here, and a rank is dead as soon as
//! somebody says so.

use std::net::{Ipv4Addr, SocketAddr};

use canele_rail::shm::Doorbell;
use canele_sys::ids::Rank;
use canele_sys::tunables::Tunables;

use crate::control::{
    Bind, Control, ControlError, FromLauncher, Gone, Handed, Host, JobInfo, Network, OnFailure, Place,
    Socket, ToLauncher, VERSION,
};
use crate::{Engine, Error};

/// The engines of a job of `size` ranks, all in this process.
///
/// # Errors
/// As [`Engine::start`].
pub fn ranks(size: u32, tunables: &Tunables) -> Result<Vec<Engine>, Error> {
    on_hosts(&[size], tunables)
}

/// The engines of a job, all in this process, as if on several hosts with so many ranks each: ranks of one host share memory,
/// others reach each other by TCP over the loopback address.
///
/// # Errors
/// As [`Engine::start`].
pub fn on_hosts(hosts: &[u32], tunables: &Tunables) -> Result<Vec<Engine>, Error> {
    let size = hosts.iter().sum();
    let several = hosts.len() > 1;
    let job = JobInfo {
        launcher: 0,
        size,
        hosts: hosts.iter().map(|ranks| Host::this(*ranks)).collect(),
        processors: size,
        on_failure: OnFailure::Continue,
        network: several.then(|| network(hosts.len())).transpose()?,
    };
    let mut engines = Vec::new();
    let mut members = Vec::new();
    for rank in 0..size {
        let (ours, theirs) = Socket::pair().map_err(ControlError::from)?;
        // The queue holds the answer before the question comes.
        let welcome = FromLauncher::Welcome { version: VERSION, job: job.clone() };
        let _ = ours.try_send(&welcome, &[]);
        let here = job.ranks_of(job.host_of(rank));
        let (local_rank, local_size) = (rank - here.start, here.len() as u32);
        let place = Place { rank, size, local_rank, local_size, bind: Bind::None };
        engines.push(Engine::join(tunables, Some(Control::new(place, theirs.into())))?);
        members.push(Joined::new(ours, several));
    }
    for (rank, member) in (0..size).zip(&members) {
        for (other, to) in (0..size).zip(&members).filter(|(other, _)| *other != rank) {
            let _ = if job.host_of(other) == job.host_of(rank) {
                let peer = FromLauncher::Peer { rank, bytes: 0 };
                to.socket.try_send(&peer, &member.inbox.descriptors())
            } else {
                let reach = FromLauncher::Reach { rank, rails: member.addresses.clone() };
                to.socket.try_send(&reach, &[])
            };
        }
    }
    for (member, engine) in members.into_iter().zip(&engines) {
        if let Ok(doorbell) = Doorbell::map(member.inbox.memory, member.inbox.event) {
            doorbell.ring();
            engine.keep(member.socket, doorbell);
        }
    }
    Ok(engines)
}

/// Tells an engine that a rank, whose own engine is used no more, has died.
pub fn bury(engine: &Engine, rank: Rank) {
    engine.hear(&FromLauncher::Gone { rank: rank.0, how: Gone::Killed(9) });
}

/// Of hosts that are all this machine.
fn network(hosts: usize) -> Result<Network, ControlError> {
    let rails = vec![vec![vec![Ipv4Addr::LOCALHOST.into()]]; hosts];
    Ok(Network { rails, ..Network::draw()? })
}

/// A rank that has started.
struct Joined {
    socket: Socket,
    inbox: Handed,
    addresses: Vec<Vec<SocketAddr>>,
}

impl Joined {
    /// Takes what it has said.
    fn new(socket: Socket, listens: bool) -> Self {
        let (mut inbox, mut addresses) = (None, None);
        while inbox.is_none() || listens && addresses.is_none() {
            match socket.try_receive::<ToLauncher>() {
                Ok(Some((ToLauncher::Inbox { .. }, handed))) => inbox = handed,
                Ok(Some((ToLauncher::Addresses { rails }, _))) => addresses = Some(rails),
                Ok(Some(_)) => {}
                other => panic!("a rank that has started has said where it is: {other:?}"),
            }
        }
        Self { socket, inbox: inbox.expect("seen above"), addresses: addresses.unwrap_or_default() }
    }
}
