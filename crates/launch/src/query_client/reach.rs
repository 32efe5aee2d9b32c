//! Connections with the listeners that have launchers' names. The users of the listeners are checked before
//! any data is read.
//!
//! Owns the decision which listeners an asking process trusts. Never waits for one listener alone: a full
//! queue is tried again beside all others, until one deadline.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use canele_sys::peer_credentials::{PeerCredentials, peer_credentials};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use crate::query_name::QueryName;

/// The time during which full queues are tried again.
const FULL_TIME: Duration = Duration::from_millis(500);
/// The pause between two rounds of attempts.
const AGAIN: Duration = Duration::from_millis(5);
/// The longest time for all connections.
const ALL_TIME: Duration = Duration::from_secs(2);
/// The most listeners whose answers are read at a time.
const MOST_LAUNCHERS: usize = 256;
/// The most of these listeners that belong to one user other than the asking user and root.
const MOST_OF_ANOTHER_USER: usize = 32;

/// A listener that may be a launcher, and is of a trusted user.
#[derive(Debug)]
pub struct Reached {
    pub name: QueryName,
    pub peer: PeerCredentials,
    pub socket: OwnedFd,
}

/// The result of connecting with the listeners.
#[derive(Debug, Default)]
pub struct Reach {
    pub reached: Vec<Reached>,
    /// The first listener that is not trusted or does not match the request.
    pub stranger: Option<PeerCredentials>,
    /// Listeners whose queues were full to the end.
    pub full: Vec<QueryName>,
    /// True if there are more launchers than are asked at a time.
    pub is_cut: bool,
}

/// Returns true for a process of the asking user or of root; for root, for every process that is visible from
/// here.
pub fn is_trusted(peer: PeerCredentials, own: u32) -> bool {
    peer.uid == own || peer.uid == 0 || own == 0 && peer.pid.is_some()
}

/// Connects with all listeners at once as the user `own`, and keeps those that are trusted and `wanted`.
///
/// # Errors
/// Fails if the system has no sockets for this process.
pub fn reach(
    names: &[QueryName],
    own: u32,
    wanted: impl Fn(&PeerCredentials) -> bool,
) -> Result<Reach, Errno> {
    let mut found = Reach::default();
    let mut waiting: VecDeque<QueryName> = names.iter().copied().collect();
    let start = Instant::now();
    loop {
        for _ in 0..waiting.len() {
            let Some(name) = waiting.pop_front() else { break };
            if start.elapsed() > ALL_TIME {
                found.is_cut = true;
                return Ok(found);
            }
            match try_connect(name) {
                Ok((socket, peer)) if is_trusted(peer, own) && wanted(&peer) => {
                    found.keep(Reached { name, peer, socket }, own);
                }
                Ok((_, peer)) => drop(found.stranger.get_or_insert(peer)),
                Err(Errno::AGAIN | Errno::INTR) => waiting.push_back(name),
                Err(error @ (Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS)) => {
                    return Err(error);
                }
                // The listener has gone.
                Err(_) => {}
            }
        }
        if waiting.is_empty() || start.elapsed() >= FULL_TIME {
            found.full = waiting.into();
            return Ok(found);
        }
        std::thread::sleep(AGAIN);
    }
}

impl Reach {
    /// Keeps a listener if there is room for one of its user.
    fn keep(&mut self, listener: Reached, own: u32) {
        let user = listener.peer.uid;
        let of_user = || self.reached.iter().filter(|reached| reached.peer.uid == user).count();
        let is_another = user != own && user != 0;
        match self.reached.len() < MOST_LAUNCHERS && !(is_another && of_user() >= MOST_OF_ANOTHER_USER) {
            true => self.reached.push(listener),
            false => self.is_cut = true,
        }
    }
}

fn try_connect(name: QueryName) -> Result<(OwnedFd, PeerCredentials), Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &name.address()?)?;
    let peer = peer_credentials(&socket).map_err(|_| Errno::CONNREFUSED)?;
    Ok((socket, peer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_user_and_root_answer_and_to_root_processes_that_it_sees() {
        let peer = |pid: u32, uid| PeerCredentials { pid: Some(pid).filter(|pid| *pid > 0), uid };
        assert!(is_trusted(peer(7, 1000), 1000));
        assert!(is_trusted(peer(0, 1000), 1000));
        assert!(is_trusted(peer(7, 0), 1000));
        assert!(!is_trusted(peer(7, 1001), 1000));
        assert!(is_trusted(peer(7, 1001), 0));
        assert!(!is_trusted(peer(0, 1001), 0));
    }
}
