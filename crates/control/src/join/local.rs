//! The messages at the socket at which the ranks of a host find their agent, and the check of both ends.
//!
//! Owns the packets. Abstract names belong to a network namespace. Processes of one namespace can pass
//! descriptors to each other, so processes that share the name can share memory. Any process can take such a
//! name, so both ends check the user of the other.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use canele_sys::exhausted::pause_if_exhausted;
use canele_sys::peer_credentials::peer_credentials;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use rustix::process::Pid;

use super::messages::{JoinAnswer, JoinRequest};
use super::names::SocketName;
use super::search::{Attempt, Search, try_or_queue};
use crate::socket::{ReceiveError, Socket, send_until_taken};

/// The pause before a connection is tried again if no process listens yet or the queue is full: the first
/// pause, and the longest.
const AGAIN: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(16)];
/// The most connections of other users that are closed in a row.
const MOST_STRANGERS: usize = 256;

/// Accepts the next connection at `listener` and returns it with the process that has made it; connections of
/// other users are closed.
///
/// Fails as accept(2) does. It fails with `AGAIN` if no connection waits, or after many connections of other
/// users, so that the caller gets to its other work.
pub fn accept_from_this_user(listener: impl AsFd) -> Result<(Socket, Pid), Errno> {
    for _ in 0..MOST_STRANGERS {
        let socket = match accept_with(&listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK) {
            Err(Errno::INTR | Errno::CONNABORTED) => continue,
            accepted => accepted.map_err(pause_if_exhausted)?,
        };
        let Ok(peer) = peer_credentials(&socket) else { continue };
        let pid = peer.pid.and_then(|pid| Pid::from_raw(pid as i32));
        if let Some(pid) = pid.filter(|_| peer.uid == rustix::process::getuid().as_raw()) {
            return Ok((Socket::new(socket), pid));
        }
    }
    Err(Errno::AGAIN)
}

/// Connects with the agent of this host, or the rank that is about to start it.
pub(super) fn connect(name: &SocketName, deadline: Instant) -> Result<Socket, String> {
    let [mut pause, longest] = AGAIN;
    let mut search = Search::default();
    loop {
        let why = match try_or_queue(name) {
            Ok(Attempt::Connected(socket)) => return Ok(socket),
            Ok(Attempt::Foreign) => {
                "another user has taken the name of its host's agent, and no other agent is found"
            }
            Ok(Attempt::Full) => "more connections wait for the agent of this host than the system allows",
            Ok(Attempt::Absent) => "the agent of this host does not listen, nor a rank that starts it",
            Err(errno) => return Err(format!("the agent of this host cannot be reached ({errno})")),
        };
        if let Ok(Some(socket)) = search.find_agent_elsewhere(name) {
            return Ok(socket);
        }
        if Instant::now() >= deadline {
            return Err(why.into());
        }
        std::thread::sleep(pause);
        pause = longest.min(2 * pause);
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
    use super::super::election::listen;
    use super::*;
    use crate::draw_job_id;

    fn soon() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    #[test]
    fn one_process_of_a_host_listens_and_the_others_find_it() {
        let job = SocketName::of_job(draw_job_id().unwrap());
        let listener = listen(&job, soon()).unwrap().expect("no process has this number");
        assert!(listen(&job, soon()).unwrap().is_none());
        // This is the connection of the process that looks for a listener.
        accept_from_this_user(&listener).unwrap();
        assert_eq!(accept_from_this_user(&listener).unwrap_err(), Errno::AGAIN);
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
        // A process that another test starts holds the socket until it runs another program.
        let has_ended = (0..1000).any(|_| {
            let is_refused =
                connect(&job, Instant::now()).is_err_and(|text| text.contains("does not listen"));
            if !is_refused {
                std::thread::sleep(Duration::from_millis(10));
            }
            is_refused
        });
        assert!(has_ended);
    }
}
