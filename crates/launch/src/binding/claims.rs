//! Claims by which the jobs of a machine avoid each other's cores: a listener with an abstract name for each
//! core. The kernel frees it when the launcher or agent that holds it ends.
//!
//! Owns the names. Any process can take them, so a claim of another user is only a hint: the kernel tells who
//! holds it. Jobs in different network namespaces do not see each other's claims.

use std::fmt;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use canele_sys::peer_credentials::{PeerCredentials, peer_credentials};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};

/// The most connections that wait to be closed; the system may allow fewer.
const BACKLOG: i32 = 4096;
/// The pause between two attempts.
const BETWEEN_TRIES: Duration = Duration::from_millis(1);

/// The right of a job to its cores, while it is alive. The caller closes connections that arrive at the
/// sockets.
#[derive(Debug, Default)]
pub struct CoreClaims {
    pub sockets: Vec<OwnedFd>,
}

/// The holder of a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// Another job of this user.
    ThisUser,
    /// A process of another user, with its credentials if known.
    Another(Option<PeerCredentials>),
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Holder::ThisUser => f.write_str("another job of this user"),
            Holder::Another(None) => f.write_str("a process that does not tell whose it is"),
            Holder::Another(Some(PeerCredentials { pid: None, uid })) => write!(f, "user {uid}"),
            Holder::Another(Some(PeerCredentials { pid: Some(pid), uid })) => {
                write!(f, "user {uid} (process {pid})")
            }
        }
    }
}

fn socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

fn address(core: u32) -> Result<SocketAddrUnix, Errno> {
    SocketAddrUnix::new_abstract_name(format!("canele-core-{core}").as_bytes())
}

/// Claims a core; none if another process has it.
pub fn claim(core: u32) -> Option<OwnedFd> {
    let socket = socket().ok()?;
    bind(&socket, &address(core).ok()?).ok()?;
    listen(&socket, BACKLOG).ok()?;
    Some(socket)
}

/// Returns the holder of a core, as the user `own` sees it; none if no process holds it any more.
///
/// A name that is bound and at which no process listens is checked again until `until`.
pub fn holder(core: u32, own: u32, until: Instant) -> Option<Holder> {
    let address = address(core).ok()?;
    loop {
        let socket = socket().ok()?;
        match connect(&socket, &address) {
            Ok(()) => {
                let peer = peer_credentials(&socket).ok();
                let is_own = peer.is_some_and(|peer| peer.uid == own);
                return Some(if is_own { Holder::ThisUser } else { Holder::Another(peer) });
            }
            // A job of this user listens immediately after it has taken the name.
            Err(Errno::CONNREFUSED) => match claim(core) {
                Some(_) => return None,
                None if Instant::now() < until => std::thread::sleep(BETWEEN_TRIES),
                None => break,
            },
            Err(_) => break,
        }
    }
    Some(Holder::Another(None))
}

/// Returns a socket that has the name of a core, and does not listen.
#[cfg(test)]
pub fn socket_at(core: u32) -> OwnedFd {
    let socket = socket().unwrap();
    bind(&socket, &address(core).unwrap()).unwrap();
    socket
}
