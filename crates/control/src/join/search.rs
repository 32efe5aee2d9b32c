//! Search for the agent of this host, or for the candidates that may start it, among names that any process
//! can take.
//!
//! Owns the knowledge about those names. A connection shows the user that holds a name. A name that another
//! user holds, or at which no process answers, is skipped. A name with a nonce keeps its owner, so each name
//! of another user costs one connection, however long the search lasts.

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

/// The most names that one search tries.
const MOST_TRIED: usize = 1 << 16;
/// The most names with a full queue at which one search waits, and the time for each.
const MOST_QUEUED: usize = 4;
const QUEUED_FOR: Duration = Duration::from_millis(16);
/// The number of searches in which a candidate's name with a full queue is counted as this user's. Candidates
/// empty their queues at each search.
const FULL_COUNTS: u32 = 64;

/// The result of a connection attempt to a name.
pub(super) enum Attempt {
    /// A process of this user listens there.
    Connected(Socket),
    /// A process of another user listens there.
    Foreign,
    /// The queue of connections is full.
    Full,
    /// No process listens there.
    Absent,
}

/// The names with a nonce that this process already knows.
#[derive(Default)]
pub(super) struct Search {
    foreign: BTreeSet<SocketName>,
    /// Counts the searches that found a candidate's name with a full queue.
    full: u32,
}

impl Search {
    /// Connects with the agent of this host, or the rank that starts it, at any of its names.
    pub fn find_agent(&mut self, name: &SocketName) -> Result<Option<Socket>, Errno> {
        match try_or_queue(name)? {
            Attempt::Connected(socket) => Ok(Some(socket)),
            _ => self.find_agent_elsewhere(name),
        }
    }

    /// Connects with the agent at names with a nonce alone.
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
            // The search takes them in random order, because another user can make any number of them.
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

    /// Returns the names of other candidates of this user that listen.
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

    /// Returns the names with a nonce that are not known as another user's; forgets names that are gone.
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

/// Returns true if the process that made the other end of a socket, or listens there, is of this user.
pub fn is_of_this_user(socket: impl AsFd) -> bool {
    peer_credentials(socket).is_ok_and(|peer| peer.uid == rustix::process::getuid().as_raw())
}

/// Connects, and waits for a moment if the queue is full.
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

/// Waits in the listener's queue for a place among its connections. A process that only tries from time to
/// time gets no place while others try continuously.
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
        // A security module may forbid the connection because of the other process's label.
        Err(Errno::ACCESS | Errno::PERM) => Ok(Attempt::Foreign),
        Err(errno) => Err(errno),
    }
}
