//! The socket at which the ranks of a host find its agent: its abstract name, who may be at its ends, and the packets on it.
//!
//! Owns the names. Abstract names are those of a network namespace, within which descriptors can be handed on: who shares the name shares
//! memory.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use canele_sys::peer_credentials::peer_credentials;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect as connect_socket,
    listen as start_listening, socket_with,
};
use rustix::process::Pid;

use super::messages::{JoinAnswer, JoinRequest};
use crate::socket::{ReceiveError, Socket, send_until_taken};

/// Connections that wait to be accepted, at most; the system allows fewer.
const BACKLOG: i32 = 4096;
/// How soon a socket that nobody listens at yet, or that has no room, is tried again: at first, and at last.
const AGAIN: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(16)];

/// The name of the socket of a job on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SocketName(String);

impl SocketName {
    /// That of the job with this number, which only ranks that have the ticket know.
    pub fn of_job(job: u64) -> SocketName {
        SocketName(format!("canele-join-{job:016x}"))
    }

    /// That of the processes to which a launcher gives this word.
    pub fn of_step(step: &str) -> SocketName {
        SocketName(format!("canele-join-{step}"))
    }

    fn address(&self) -> Result<SocketAddrUnix, Errno> {
        SocketAddrUnix::new_abstract_name(self.0.as_bytes())
    }
}

fn new_socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// A socket of this name that listens for the ranks of the job on this host; none if another process has one.
pub(super) fn listen(name: &SocketName) -> Result<Option<OwnedFd>, Errno> {
    let socket = new_socket()?;
    match bind(&socket, &name.address()?) {
        Ok(()) => start_listening(&socket, BACKLOG).map(|()| Some(socket)),
        Err(Errno::ADDRINUSE) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// True if the process that made the other end of a socket, or listens there, is of this user.
pub fn is_of_this_user(socket: impl AsFd) -> bool {
    peer_credentials(socket).is_ok_and(|peer| peer.uid == rustix::process::getuid().as_raw())
}

/// The next connection that waits at `listener`, with the process that has made it; those of other users are closed.
///
/// # Errors
/// As accept(2): `AGAIN` if none waits.
pub fn accept_from_this_user(listener: impl AsFd) -> Result<(Socket, Pid), Errno> {
    loop {
        let socket = match accept_with(&listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Err(Errno::INTR | Errno::CONNABORTED) => continue,
            accepted => accepted?,
        };
        let Ok(peer) = peer_credentials(&socket) else { continue };
        let pid = peer.pid.and_then(|pid| Pid::from_raw(pid as i32));
        if let Some(pid) = pid.filter(|_| peer.uid == rustix::process::getuid().as_raw()) {
            return Ok((Socket::new(socket), pid));
        }
    }
}

/// Connects with the agent of this host, or the rank that is about to start it.
pub(super) fn connect(name: &SocketName, deadline: Instant) -> Result<Socket, String> {
    let socket = new_socket().map_err(|errno| errno.to_string())?;
    let address = name.address().map_err(|errno| errno.to_string())?;
    let [mut pause, longest] = AGAIN;
    loop {
        match connect_socket(&socket, &address) {
            Ok(()) if is_of_this_user(&socket) => return Ok(Socket::new(socket)),
            Ok(()) => return Err("another user has taken the name of its host's agent".into()),
            Err(Errno::INTR | Errno::CONNREFUSED | Errno::AGAIN) if Instant::now() < deadline => {
                std::thread::sleep(pause);
                pause = longest.min(2 * pause);
            }
            Err(errno) => {
                return Err(format!(
                    "the agent of this host does not listen, nor a rank that starts it ({errno})"
                ));
            }
        }
    }
}

/// Sends a request.
pub(super) fn ask(socket: &Socket, request: &JoinRequest, descriptors: &[BorrowedFd]) -> Result<(), String> {
    let wait = || wait_for(socket, PollFlags::OUT, None).map(drop);
    send_until_taken(|| socket.try_send(request, descriptors), wait).map_err(|error| error.to_string())
}

/// Waits for an answer.
pub(super) fn answer(socket: &Socket, deadline: Instant) -> Result<JoinAnswer, String> {
    loop {
        match socket.try_receive::<JoinAnswer>() {
            Ok(Some((answer, _))) => return Ok(answer),
            Ok(None) => {}
            Err(ReceiveError::Closed) => {
                return Err("a process that stands in for the launcher (`canele join`) has ended".into());
            }
            Err(error) => return Err(error.to_string()),
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(
                "not all ranks have come in time (CANELE_REMOTE_START_MS allows more): is the network between the hosts \
                 open for TCP, and is the same release of Canelé on all of them?"
                    .into(),
            );
        }
        wait_for(socket, PollFlags::IN, Some(left)).map_err(|errno| errno.to_string())?;
    }
}

fn wait_for(socket: &Socket, events: PollFlags, at_most: Option<Duration>) -> Result<(), Errno> {
    let timeout = at_most.and_then(|left| Timespec::try_from(left).ok());
    match poll(&mut [PollFd::new(socket, events)], timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw_job_id;

    #[test]
    fn one_process_of_a_host_listens_and_the_others_find_it() {
        let job = SocketName::of_job(draw_job_id().unwrap());
        let listener = listen(&job).unwrap().expect("nobody has this number");
        assert!(listen(&job).unwrap().is_none());
        assert_eq!(accept_from_this_user(&listener).unwrap_err(), Errno::AGAIN);
        let soon = || Instant::now() + Duration::from_secs(10);
        let socket = connect(&job, soon()).unwrap();
        let (agent, pid) = accept_from_this_user(&listener).unwrap();
        assert_eq!(pid, rustix::process::getpid());
        ask(&socket, &JoinRequest::Join { version: 1, rank: 2, ranks: 3 }, &[]).unwrap();
        let (request, _) = agent.try_receive::<JoinRequest>().unwrap().unwrap();
        assert_eq!(request, JoinRequest::Join { version: 1, rank: 2, ranks: 3 });
        assert!(answer(&socket, Instant::now()).unwrap_err().contains("in time"));
        drop(agent);
        assert!(answer(&socket, soon()).unwrap_err().contains("has ended"));
        drop(listener);
        assert!(connect(&job, Instant::now()).unwrap_err().contains("does not listen"));
    }
}
