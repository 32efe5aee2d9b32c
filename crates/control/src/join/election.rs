//! Election of the rank of a host that listens for the others and starts the agent.
//!
//! Owns the candidates' sockets. Another user can hold any name, so holding a name decides nothing. A rank
//! that wants to listen first becomes a candidate at a name with a nonce, and searches for other candidates.
//!
//! ```text
//!   bind the first name, if it is free      it does not listen yet
//!   listen as a candidate, look twice       another candidate: the first by name stays, others start over
//!   no other: look for one that leads       there is one: leave
//!   none: listen at the first name, or one with a nonce; end the candidacy
//! ```
//! Of two candidates the one that listened last sees the other, so at most one of them is alone. It ends its
//! candidacy only when it listens, so the next candidate that is alone sees the winner listen.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, accept_with, bind, listen as start_listening, socket_with,
};

use super::names::SocketName;
use super::search::Search;
use crate::draw_job_id;

/// The most connections that wait to be accepted; the system may allow fewer.
const BACKLOG: i32 = 4096;
/// The number of consecutive searches without another candidate after which a candidate is alone. The
/// system's table can lack a name while others change.
const LOOKS_ALONE: u32 = 2;
/// The number of searches in one candidacy.
const MOST_LOOKS: u32 = 64;
/// The pause of a candidate before its next search. The next constant has the longest random pause before it
/// starts over, at first and at last.
const BETWEEN_LOOKS: Duration = Duration::from_millis(1);
const START_OVER: [Duration; 2] = [Duration::from_millis(2), Duration::from_millis(32)];

/// Returns a socket that listens for the ranks of the job on this host; none if another process of this user
/// has one.
///
/// # Errors
/// Fails with `TIMEDOUT` if the election is not decided at `deadline`, and with errors of sockets.
pub(super) fn listen(name: &SocketName, deadline: Instant) -> Result<Option<OwnedFd>, Errno> {
    let first = bind_to(name)?;
    let mut search = Search::default();
    let Some(_candidate) = win(name, first.is_some(), &mut search, deadline)? else { return Ok(None) };
    let socket = match first {
        Some(socket) => socket,
        None => bind_to(&name.draw_agent()?)?.ok_or(Errno::ADDRINUSE)?,
    };
    start_listening(&socket, BACKLOG)?;
    Ok(Some(socket))
}

/// Returns the socket of the only candidate. This process is that candidate until it closes the socket.
/// Returns none if a process of this user listens for the others already.
fn win(
    name: &SocketName,
    holds_first_name: bool,
    search: &mut Search,
    deadline: Instant,
) -> Result<Option<OwnedFd>, Errno> {
    let [mut pause, longest] = START_OVER;
    while search.find_agent(name)?.is_none() {
        if let Some(candidate) = stand(name, holds_first_name, search)? {
            // Another process may have won before this candidate was alone.
            let leads = search.find_agent(name)?.is_some();
            return Ok(Some(candidate).filter(|_| !leads));
        }
        if Instant::now() >= deadline {
            return Err(Errno::TIMEDOUT);
        }
        std::thread::sleep(pause.mul_f64(draw_job_id()? as f64 / u64::MAX as f64));
        pause = longest.min(2 * pause);
    }
    Ok(None)
}

/// Stands as a candidate until it is the only one, or another one comes first.
fn stand(name: &SocketName, holds_first_name: bool, search: &mut Search) -> Result<Option<OwnedFd>, Errno> {
    let own = name.draw_candidate(holds_first_name)?;
    let candidate = bind_to(&own)?.ok_or(Errno::ADDRINUSE)?;
    start_listening(&candidate, BACKLOG)?;
    let mut alone = 0;
    for _ in 0..MOST_LOOKS {
        let others = search.find_candidates(name, &own)?;
        match others.first() {
            None => alone += 1,
            Some(other) if *other < own => return Ok(None),
            Some(_) => {
                alone = 0;
                close_waiting(&candidate);
                std::thread::sleep(BETWEEN_LOOKS);
            }
        }
        if alone == LOOKS_ALONE {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}

/// Closes the connections of processes that looked, so that others find a place.
fn close_waiting(candidate: &OwnedFd) {
    for _ in 0..BACKLOG {
        if accept_with(candidate, SocketFlags::CLOEXEC).is_err() {
            return;
        }
    }
}

/// Returns a socket of this name; none if a process has it.
pub(super) fn bind_to(name: &SocketName) -> Result<Option<OwnedFd>, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    match bind(&socket, &name.address()?) {
        Ok(()) => Ok(Some(socket)),
        Err(Errno::ADDRINUSE) => Ok(None),
        Err(errno) => Err(errno),
    }
}
