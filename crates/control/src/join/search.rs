//! Finds the agent of this host, or the candidates for starting it, among names that any process can take.
//!
//! Owns what is known of those names. A connection tells whose a name is: one that another user holds, or at which no process answers, is passed
//! over. A name with a nonce keeps its owner, so each of another user costs one connection, however often the search goes on.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use canele_sys::peer_credentials::peer_credentials;
use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use super::names::{NonceOf, SocketName};
use crate::draw_job_id;
use crate::socket::Socket;

/// Names that are tried in one look, at most.
const MOST_TRIED: usize = 1 << 16;
/// Names without a free place at which one look queues, and for how long at each.
const MOST_QUEUED: usize = 4;
const QUEUED_FOR: Duration = Duration::from_millis(16);
/// Looks for which a candidate's name without a free place counts as this user's. Candidates free their places at each of their looks.
const FULL_COUNTS: u32 = 64;

/// What came of connecting to a name.
pub(super) enum Attempt {
    /// A process of this user listens there.
    Connected(Socket),
    /// One of another user does.
    Foreign,
    /// More connections wait there than the system allows.
    Full,
    /// No process listens.
    Absent,
}

/// What this process knows of the names with a nonce.
#[derive(Default)]
pub(super) struct Search {
    foreign: BTreeSet<SocketName>,
    /// Looks that met a candidate's name without a free place.
    full: u32,
}

impl Search {
    /// Connects with the agent of this host, or the rank that starts it, wherever it listens.
    pub fn find_agent(&mut self, name: &SocketName) -> Result<Option<Socket>, Errno> {
        match try_or_queue(name)? {
            Attempt::Connected(socket) => Ok(Some(socket)),
            _ => self.find_agent_elsewhere(name),
        }
    }

    /// The same, at names with a nonce alone.
    pub fn find_agent_elsewhere(&mut self, name: &SocketName) -> Result<Option<Socket>, Errno> {
        let mut full = Vec::new();
        for other in self.unknown(name, NonceOf::Agent) {
            match self.try_name(&other)? {
                Attempt::Connected(socket) => return Ok(Some(socket)),
                Attempt::Full => full.push(other),
                Attempt::Foreign | Attempt::Absent => {}
            }
        }
        if !full.is_empty() {
            // Each of many has its turn, for another user can make any number of them.
            let first = draw_job_id()? as usize % full.len();
            full.rotate_left(first);
        }
        for other in full.into_iter().take(MOST_QUEUED) {
            match queue_for(&other, QUEUED_FOR)? {
                Attempt::Connected(socket) => return Ok(Some(socket)),
                Attempt::Foreign => drop(self.foreign.insert(other)),
                Attempt::Full | Attempt::Absent => {}
            }
        }
        Ok(None)
    }

    /// The names of other candidates of this user that listen.
    pub fn find_candidates(
        &mut self,
        name: &SocketName,
        own: &SocketName,
    ) -> Result<BTreeSet<SocketName>, Errno> {
        let (mut found, mut full) = (BTreeSet::new(), BTreeSet::new());
        for other in self.unknown(name, NonceOf::Candidate) {
            if other == *own {
                continue;
            }
            match self.try_name(&other)? {
                Attempt::Connected(_) => drop(found.insert(other)),
                Attempt::Full => drop(full.insert(other)),
                Attempt::Foreign | Attempt::Absent => {}
            }
        }
        if !full.is_empty() && self.full < FULL_COUNTS {
            self.full += 1;
            found.append(&mut full);
        }
        Ok(found)
    }

    /// The names with a nonce that are not known as another user's; forgets what is gone.
    fn unknown(&mut self, name: &SocketName, of: NonceOf) -> Vec<SocketName> {
        let names = name.with_nonces(of);
        self.foreign.retain(|foreign| !name.is_first_name_of(foreign, of) || names.contains(foreign));
        names.difference(&self.foreign).take(MOST_TRIED).cloned().collect()
    }

    fn try_name(&mut self, name: &SocketName) -> Result<Attempt, Errno> {
        let attempt = try_connect(name)?;
        if matches!(attempt, Attempt::Foreign) {
            self.foreign.insert(name.clone());
        }
        Ok(attempt)
    }
}

/// True if the process that made the other end of a socket, or listens there, is of this user.
pub fn is_of_this_user(socket: impl AsFd) -> bool {
    peer_credentials(socket).is_ok_and(|peer| peer.uid == rustix::process::getuid().as_raw())
}

/// Connects, and queues for a moment where no place is free.
pub(super) fn try_or_queue(name: &SocketName) -> Result<Attempt, Errno> {
    match try_connect(name)? {
        Attempt::Full => queue_for(name, QUEUED_FOR),
        attempt => Ok(attempt),
    }
}

pub(super) fn try_connect(name: &SocketName) -> Result<Attempt, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    let address = name.address()?;
    loop {
        match connect(&socket, &address) {
            Err(Errno::INTR) => continue,
            connected => return attempt_of(connected, socket),
        }
    }
}

/// Stands in the queue of those that wait for a place among the connections of a listener: a process that only tries now and then
/// gets none while others try all the time.
pub(super) fn queue_for(name: &SocketName, at_most: Duration) -> Result<Attempt, Errno> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(at_most))?;
    match connect(&socket, &name.address()?) {
        Err(Errno::INTR) => Ok(Attempt::Full),
        connected => {
            ioctl_fionbio(&socket, true)?;
            attempt_of(connected, socket)
        }
    }
}

fn attempt_of(connected: Result<(), Errno>, socket: OwnedFd) -> Result<Attempt, Errno> {
    match connected {
        Ok(()) if is_of_this_user(&socket) => Ok(Attempt::Connected(Socket::new(socket))),
        Ok(()) => Ok(Attempt::Foreign),
        Err(Errno::AGAIN) => Ok(Attempt::Full),
        Err(Errno::CONNREFUSED) => Ok(Attempt::Absent),
        // A security module may forbid it because of what the other process is.
        Err(Errno::ACCESS | Errno::PERM) => Ok(Attempt::Foreign),
        Err(errno) => Err(errno),
    }
}
