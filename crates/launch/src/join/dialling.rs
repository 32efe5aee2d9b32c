//! Connection of an agent to its job's launcher: it tries all addresses at once, until one of them proves
//! that the launcher is there.
//!
//! Owns the attempts. Waits for none of them alone and starts no thread: each has a socket that never blocks,
//! and a deadline. If the launcher closes a connection for lack of room, the attempt is repeated: other
//! processes may fill its places for a moment.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use canele_secure::{Initiator, Secret, SecureChannel};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, sockopt};

use super::newcomers::PROOF_TIME;
use crate::events::{Events, Ready, Source};
use crate::remote::{Connection, FLIGHT, MAGIC, PREAMBLE, Version};

/// The pause before the launcher is tried again: the first pause, and the longest.
const AGAIN: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(320)];

/// The state of an attempt.
enum DialState {
    /// The attempt begins at its deadline.
    Pausing,
    /// The connection is being made.
    Connecting(TcpStream),
    /// The greeting was sent, and `came` bytes of the answer have been received.
    Greeting { stream: TcpStream, initiator: Initiator, answer: [u8; FLIGHT], came: usize },
    /// No launcher of the job is at this address.
    Failed,
}

/// The attempts to reach the launcher at one address.
struct Attempt {
    address: SocketAddr,
    state: DialState,
    /// The deadline of the state.
    until: Instant,
    /// The length of the next pause.
    pause: Duration,
}

/// Connects to the launcher that proves this secret at one of the addresses. Tries them until `deadline`.
///
/// # Errors
/// Fails with a text about the result at each address.
pub fn dial(
    addresses: &[SocketAddr],
    secret: &Secret,
    deadline: Instant,
    events: &Events,
) -> Result<(TcpStream, SecureChannel), String> {
    let new = |address: &SocketAddr| Attempt::new(*address, Instant::now());
    let mut attempts: Vec<Attempt> = addresses.iter().map(new).collect();
    let mut failed = Vec::new();
    let mut ready = Vec::new();
    loop {
        for (number, attempt) in (0..).zip(&mut attempts) {
            let source = Source::Joining(number);
            let is_ready = ready.contains(&source);
            match attempt.step(is_ready, source, secret, deadline, events) {
                Ok(None) => {}
                Ok(Some(reached)) => return Ok(reached),
                Err(error) => failed.push(format!("{}: {error}", attempt.address)),
            }
        }
        if failed.len() == attempts.len() {
            return Err(failed.join(", "));
        }
        let lives = attempts.iter().filter(|attempt| !matches!(attempt.state, DialState::Failed));
        let next = lives.map(|attempt| attempt.until).min();
        ready = events.wait(next).into_iter().map(|(source, _)| source).collect();
    }
}

impl Attempt {
    fn new(address: SocketAddr, now: Instant) -> Attempt {
        Attempt { address, state: DialState::Pausing, until: now, pause: AGAIN[0] }
    }

    /// Advances the attempt as far as possible without waiting. Returns the connection once it is made, and
    /// an error once the last attempt has failed.
    fn step(
        &mut self,
        is_ready: bool,
        source: Source,
        secret: &Secret,
        deadline: Instant,
        events: &Events,
    ) -> io::Result<Option<(TcpStream, SecureChannel)>> {
        let now = Instant::now();
        let is_late = now >= self.until;
        let result = match std::mem::replace(&mut self.state, DialState::Failed) {
            DialState::Failed => return Ok(None),
            DialState::Pausing if is_late => self.begin(source, deadline, events),
            DialState::Connecting(stream) if is_ready => {
                self.until = deadline.min(now + PROOF_TIME);
                greet(stream, self.address, source, secret, events)
            }
            DialState::Greeting { stream, initiator, answer, came } if is_ready => {
                match hear(stream, initiator, answer, came) {
                    Ok(Heard::All(stream, channel)) => {
                        events.remove(&stream);
                        return Ok(Some((stream, channel)));
                    }
                    Ok(Heard::Part(_)) if is_late => Err(ErrorKind::TimedOut.into()),
                    Ok(Heard::Part(state)) => Ok(state),
                    Err(error) => Err(error),
                }
            }
            DialState::Connecting(_) | DialState::Greeting { .. } if is_late => {
                Err(ErrorKind::TimedOut.into())
            }
            state => Ok(state),
        };
        match result {
            Ok(state) => self.state = state,
            Err(error) if was_crowded_out(&error) && now + self.pause < deadline => {
                (self.state, self.until) = (DialState::Pausing, now + self.pause);
                self.pause = AGAIN[1].min(2 * self.pause);
            }
            Err(error) => return Err(error),
        }
        Ok(None)
    }

    fn begin(&mut self, source: Source, deadline: Instant, events: &Events) -> io::Result<DialState> {
        self.until = deadline;
        let family = if self.address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let stream = TcpStream::from(socket_with(family, SocketType::STREAM, flags, None)?);
        stream.set_nodelay(true)?;
        match connect(&stream, &self.address) {
            Ok(()) | Err(Errno::INPROGRESS | Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        events.add(&stream, source, Ready::OUT)?;
        Ok(DialState::Connecting(stream))
    }
}

/// Sends the greeting over a connection that was made or has failed.
fn greet(
    mut stream: TcpStream,
    address: SocketAddr,
    source: Source,
    secret: &Secret,
    events: &Events,
) -> io::Result<DialState> {
    sockopt::socket_error(&stream)??;
    let (initiator, greeting) = Connection::Address(address).greet(secret).map_err(io::Error::other)?;
    // A new socket has room for a greeting.
    stream.write_all(&greeting)?;
    events.change(&stream, source, Ready::IN);
    Ok(DialState::Greeting { stream, initiator, answer: [0; FLIGHT], came: 0 })
}

/// The result of reading an answer.
enum Heard {
    /// A part of the answer, with which the attempt goes on.
    Part(DialState),
    /// The whole answer, which proves that the launcher is there.
    All(TcpStream, SecureChannel),
}

/// Reads the available part of the answer.
///
/// # Errors
/// Fails with `PermissionDenied` if the other end is no launcher of the job, `Unsupported` if it is of
/// another release; else as read(2) does.
fn hear(
    mut stream: TcpStream,
    initiator: Initiator,
    mut answer: [u8; FLIGHT],
    mut came: usize,
) -> io::Result<Heard> {
    while came < FLIGHT {
        match stream.read(&mut answer[came..]) {
            Ok(0) => {
                check_version(&answer[..came])?;
                return Err(ErrorKind::UnexpectedEof.into());
            }
            Ok(count) => came += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Ok(Heard::Part(DialState::Greeting { stream, initiator, answer, came }));
            }
            Err(error) => return Err(error),
        }
    }
    check_version(&answer)?;
    let refused = |_| io::Error::new(ErrorKind::PermissionDenied, "the other end is not of this job");
    let (channel, _) = initiator.handle_answer(&answer).map_err(refused)?;
    Ok(Heard::All(stream, channel))
}

/// Checks for the preamble of a launcher of another release.
fn check_version(answer: &[u8]) -> io::Result<()> {
    let Some(preamble) = answer.first_chunk::<PREAMBLE>().filter(|preamble| preamble.starts_with(&MAGIC))
    else {
        return Ok(());
    };
    let (theirs, own) = (Version::parse(preamble), Version::own());
    let text = format!(
        "the launcher is canele {} with messages of version {}, and this is canele {} with version {}: install the same on all hosts",
        theirs.release, theirs.version, own.release, own.version
    );
    Err(io::Error::new(ErrorKind::Unsupported, text))
}

/// Returns true if the other end took the connection and closed it, or sent nothing.
fn was_crowded_out(error: &io::Error) -> bool {
    use ErrorKind::*;
    matches!(error.kind(), UnexpectedEof | ConnectionReset | ConnectionAborted | BrokenPipe | TimedOut)
}

#[cfg(test)]
#[path = "dialling_tests.rs"]
mod tests;
