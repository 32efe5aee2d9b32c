//! The socket at which the ranks of a host find its agent: its abstract name, who may be at its ends, and the packets on it.
//!
//! Owns the names. Abstract names are those of a network namespace, within which descriptors can be handed on: who shares the name shares
//! memory. Anybody can take such a name. So a name that another user holds, or that nobody answers at, is passed over: whoever is to listen
//! takes one with a nonce behind it, and the others look for such names in `/proc/net/unix` and believe the one that is this user's.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use canele_sys::exhausted::pause_if_exhausted;
use canele_sys::peer_credentials::peer_credentials;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::io::ioctl_fionbio;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect as connect_socket,
    listen as start_listening, socket_with,
};
use rustix::process::Pid;

use super::messages::{JoinAnswer, JoinRequest};
use crate::draw_job_id;
use crate::socket::{ReceiveError, Socket, send_until_taken};

/// Connections that wait to be accepted, at most; the system allows fewer.
const BACKLOG: i32 = 4096;
/// How soon a socket that nobody listens at yet, or that has no room, is tried again: at first, and at last.
const AGAIN: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(16)];

/// Between a name and the nonce behind it.
const MARK: char = '~';
/// Looks at a name that is taken, a millisecond apart, before it counts as another user's.
const LISTENS_SOON: u32 = 20;
/// Connections of other users that are closed in a row.
const MOST_STRANGERS: usize = 256;
/// What is read of the system's table of sockets, in bytes, and names that are tried, at most.
const MOST_TABLE: u64 = 64 << 20;
const MOST_ALTERNATIVES: usize = 1 << 16;

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

    /// One that nobody could take before; the others find it by its beginning.
    fn alternative(&self) -> Result<SocketName, Errno> {
        Ok(SocketName(format!("{}{MARK}{:016x}", self.0, draw_job_id()?)))
    }

    /// The alternatives that there are, whoever made them.
    fn alternatives(&self) -> Vec<SocketName> {
        let mut table = Vec::new();
        let file = std::fs::File::open("/proc/net/unix").map(|file| file.take(MOST_TABLE));
        if file.and_then(|mut file| file.read_to_end(&mut table)).is_err() {
            return Vec::new();
        }
        // The system shows the zero before an abstract name like this.
        let beginning = format!("@{}{MARK}", self.0);
        let names =
            table.split(|byte| *byte == b'\n').filter_map(|line| line.rsplit(|byte| *byte == b' ').next());
        let names = names.filter_map(|name| std::str::from_utf8(name).ok()?.strip_prefix('@'));
        let ours =
            names.filter(|name| name.starts_with(&beginning[1..]) && name.len() == beginning.len() + 15);
        let names: BTreeSet<&str> = ours.take(MOST_ALTERNATIVES).collect();
        names.into_iter().map(|name| SocketName(name.to_owned())).collect()
    }

    fn address(&self) -> Result<SocketAddrUnix, Errno> {
        SocketAddrUnix::new_abstract_name(self.0.as_bytes())
    }
}

fn new_socket() -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)
}

/// A socket of this name that listens for the ranks of the job on this host; none if another process of this user has one.
pub(super) fn listen(name: &SocketName) -> Result<Option<OwnedFd>, Errno> {
    if let Some(socket) = listen_as(name)? {
        return Ok(Some(socket));
    }
    // One of this user that has just bound it listens soon.
    for _ in 0..LISTENS_SOON {
        match try_connect(name)? {
            Attempt::Connected(_) => return Ok(None),
            Attempt::Foreign => break,
            Attempt::Full => match queue_for(name, AGAIN[1])? {
                Attempt::Connected(_) => return Ok(None),
                _ => continue,
            },
            Attempt::Absent => std::thread::sleep(AGAIN[0]),
        }
    }
    match find_alternative(name)? {
        Some(_) => Ok(None),
        None => listen_as(&name.alternative()?),
    }
}

fn listen_as(name: &SocketName) -> Result<Option<OwnedFd>, Errno> {
    let socket = new_socket()?;
    match bind(&socket, &name.address()?) {
        Ok(()) => start_listening(&socket, BACKLOG).map(|()| Some(socket)),
        Err(Errno::ADDRINUSE) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// What came of connecting to a name.
enum Attempt {
    /// A process of this user listens there.
    Connected(Socket),
    /// One of another user does.
    Foreign,
    /// More connections wait there than the system allows.
    Full,
    /// Nobody listens.
    Absent,
}

fn try_connect(name: &SocketName) -> Result<Attempt, Errno> {
    let (socket, address) = (new_socket()?, name.address()?);
    loop {
        return match connect_socket(&socket, &address) {
            Ok(()) if is_of_this_user(&socket) => Ok(Attempt::Connected(Socket::new(socket))),
            Ok(()) => Ok(Attempt::Foreign),
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => Ok(Attempt::Full),
            Err(Errno::CONNREFUSED) => Ok(Attempt::Absent),
            // A security module may forbid it because of what the other process is.
            Err(Errno::ACCESS | Errno::PERM) => Ok(Attempt::Foreign),
            Err(errno) => Err(errno),
        };
    }
}

/// Stands in the queue of those that wait for a place among the connections of a listener: whoever only tries now and then gets
/// none while others try all the time.
fn queue_for(name: &SocketName, at_most: Duration) -> Result<Attempt, Errno> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(at_most))?;
    match connect_socket(&socket, &name.address()?) {
        Ok(()) if is_of_this_user(&socket) => {
            ioctl_fionbio(&socket, true)?;
            Ok(Attempt::Connected(Socket::new(socket)))
        }
        Ok(()) => Ok(Attempt::Foreign),
        Err(Errno::AGAIN | Errno::INTR) => Ok(Attempt::Full),
        Err(Errno::CONNREFUSED) => Ok(Attempt::Absent),
        Err(Errno::ACCESS | Errno::PERM) => Ok(Attempt::Foreign),
        Err(errno) => Err(errno),
    }
}

fn find_alternative(name: &SocketName) -> Result<Option<Socket>, Errno> {
    for alternative in name.alternatives() {
        let attempt = match try_connect(&alternative)? {
            Attempt::Full => queue_for(&alternative, AGAIN[1])?,
            attempt => attempt,
        };
        if let Attempt::Connected(socket) = attempt {
            return Ok(Some(socket));
        }
    }
    Ok(None)
}

/// True if the process that made the other end of a socket, or listens there, is of this user.
pub fn is_of_this_user(socket: impl AsFd) -> bool {
    peer_credentials(socket).is_ok_and(|peer| peer.uid == rustix::process::getuid().as_raw())
}

/// The next connection that waits at `listener`, with the process that has made it; those of other users are closed.
///
/// # Errors
/// As accept(2): `AGAIN` if none waits, or after many of other users, so that the caller gets to its other work.
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
    loop {
        let mut attempt = try_connect(name);
        if let Ok(Attempt::Full) = attempt {
            attempt = queue_for(name, longest);
        }
        let why = match attempt {
            Ok(Attempt::Connected(socket)) => return Ok(socket),
            Ok(Attempt::Foreign) => {
                "another user has taken the name of its host's agent, and no other agent is found"
            }
            Ok(Attempt::Full) => "more connections wait for the agent of this host than the system allows",
            Ok(Attempt::Absent) => "the agent of this host does not listen, nor a rank that starts it",
            Err(errno) => return Err(format!("the agent of this host cannot be reached ({errno})")),
        };
        if let Ok(Some(socket)) = find_alternative(name) {
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
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};

    use super::*;

    const TAKES: &str = "CANELE_TEST_TAKES_NAME";

    /// The stranger, in the process that another test starts: holds a name, listening or not.
    #[test]
    fn take_a_name() {
        let Ok(role) = std::env::var(TAKES) else { return };
        let (name, backlog) = role.split_once(' ').unwrap();
        let socket = new_socket().unwrap();
        bind(&socket, &SocketName(name.into()).address().unwrap()).unwrap();
        if let Ok(backlog) = backlog.parse() {
            start_listening(&socket, backlog).unwrap();
        }
        println!("taken");
        std::thread::sleep(Duration::from_secs(120));
    }

    /// A process of another user that has taken the name; `None` where this one may not start such a process.
    fn stranger(name: &SocketName, backlog: &str) -> Option<Child> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root can be another user");
            return None;
        }
        let mut stranger = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "join::local::tests::take_a_name", "--nocapture"])
            .env(TAKES, format!("{} {backlog}", name.0))
            .stdout(Stdio::piped())
            .uid(65534)
            .spawn()
            .unwrap();
        let mut said = [0; 4096];
        let mut out = stranger.stdout.take().unwrap();
        while !String::from_utf8_lossy(&said).contains("taken") {
            assert!(out.read(&mut said).unwrap() > 0);
        }
        Some(stranger)
    }

    #[test]
    fn a_name_that_another_user_has_taken_keeps_nobody_from_the_agent() {
        for backlog in ["8", "0", "never"] {
            let job = SocketName::of_job(draw_job_id().unwrap());
            let Some(mut stranger) = stranger(&job, backlog) else { return };
            // Its queue is full.
            let _full: Vec<_> = (0..2).map(|_| try_connect(&job).map(drop)).collect();
            let listener = listen(&job).unwrap().expect("one with a nonce");
            assert!(listen(&job).unwrap().is_none(), "it is found");
            let socket = connect(&job, Instant::now() + Duration::from_secs(60)).unwrap();
            ask(&socket, &JoinRequest::Join { version: 1, rank: 2, ranks: 3 }, &[]).unwrap();
            // The look at the name came first, and was closed.
            let mut heard = None;
            while heard.is_none() {
                let (agent, _) = accept_from_this_user(&listener).unwrap();
                heard = agent.try_receive::<JoinRequest>().ok().flatten();
            }
            stranger.kill().unwrap();
            stranger.wait().unwrap();
        }
    }

    #[test]
    fn decoys_of_another_user_are_passed_over() {
        let job = SocketName::of_job(draw_job_id().unwrap());
        let Some(mut first) = stranger(&job, "8") else { return };
        let mut second = stranger(&job.alternative().unwrap(), "8").unwrap();
        assert_eq!(job.alternatives().len(), 1);
        let _listener = listen(&job).unwrap().expect("the decoy is not believed");
        assert_eq!(job.alternatives().len(), 2);
        assert!(connect(&job, Instant::now()).is_ok());
        for stranger in [&mut first, &mut second] {
            stranger.kill().unwrap();
            stranger.wait().unwrap();
        }
    }

    #[test]
    fn connections_that_wait_are_worked_off_in_portions() {
        let job = SocketName::of_job(draw_job_id().unwrap());
        let listener = listen(&job).unwrap().unwrap();
        let sockets: Vec<_> = (0..3).map(|_| connect(&job, Instant::now()).unwrap()).collect();
        for _ in &sockets {
            accept_from_this_user(&listener).unwrap();
        }
        assert_eq!(accept_from_this_user(&listener).unwrap_err(), Errno::AGAIN);
        let queued = queue_for(&job, Duration::from_secs(60));
        assert!(matches!(queued, Ok(Attempt::Connected(_))));
    }

    #[test]
    fn one_process_of_a_host_listens_and_the_others_find_it() {
        let job = SocketName::of_job(draw_job_id().unwrap());
        let listener = listen(&job).unwrap().expect("nobody has this number");
        assert!(listen(&job).unwrap().is_none());
        // The look at who listens.
        accept_from_this_user(&listener).unwrap();
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
