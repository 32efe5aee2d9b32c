//! Claims by which the jobs of a machine keep off each other's cores: a listener with an abstract name for each core, which the kernel
//! frees when the launcher or agent that holds it ends.
//!
//! Owns the names. Any process can take them, so a claim of another user is no more than a hint: who holds it is asked of the kernel.
//! Jobs in different network namespaces do not see each other's claims.

use std::fmt;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use canele_sys::peer_credentials::{PeerCredentials, peer_credentials};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};

/// Connections that wait to be closed, at most; the system may allow fewer.
const BACKLOG: i32 = 4096;
/// Between two tries.
const BETWEEN_TRIES: Duration = Duration::from_millis(1);

/// The right of a job to its cores, as long as it lives. Connections that arrive at the sockets are to be closed.
#[derive(Debug, Default)]
pub struct CoreClaims {
    pub sockets: Vec<OwnedFd>,
}

/// Who holds a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// Another job of this user.
    ThisUser,
    /// A process of another user, if it tells which.
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

/// The claim to a core; nothing if another process has it.
pub fn claim(core: u32) -> Option<OwnedFd> {
    let socket = socket().ok()?;
    bind(&socket, &address(core).ok()?).ok()?;
    listen(&socket, BACKLOG).ok()?;
    Some(socket)
}

/// Returns who holds a core, as the user `own` sees it; nothing if no process holds it any more.
///
/// A name that is bound and at which no process listens is looked at again until `until`.
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
            // A job of this user listens at once after it has taken the name.
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

/// A socket that has the name of a core, and does not listen.
#[cfg(test)]
pub fn socket_at(core: u32) -> OwnedFd {
    let socket = socket().unwrap();
    bind(&socket, &address(core).unwrap()).unwrap();
    socket
}
