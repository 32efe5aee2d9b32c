//! `canele join`: the processes that replace `canele run` if a launcher of another system has started the
//! ranks.
//!
//! ```text
//!   mpiexec, srun, prterun ──▶ ranks of one host ── control sockets ──▶ agent ─┐
//!                          └─▶ ranks of another  ── control sockets ──▶ agent ─┴─ TCP, sealed ─▶ launcher
//! ```
//! Owns the start and connection of these processes. From then on agents and launcher work as those of
//! `canele run --hosts`. But the ranks are no children of an agent. Descriptors of their processes report
//! their ends, and the other launcher reports their exit statuses. Rank 0 starts the launcher, and the first
//! rank of each host starts its agent (`canele_control::join`).

mod agent;
mod arrivals;
mod dialling;
mod gathering;
mod launcher;
mod newcomers;
#[cfg(test)]
mod relay_tests;

use std::io;
use std::os::fd::OwnedFd;

use canele_control::join::{JoinRequest, JoinTask};
use canele_control::{Socket, VERSION};
use canele_secure::{KeyPurpose, Secret};
use canele_sys::signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub use arrivals::{Arrival, Arrivals, JoinedRank};
pub use gathering::GatheredAgent;

/// The time in which the rank that has started this process must send the task.
const BEGIN_TIMEOUT: Timespec = Timespec { tv_sec: 10, tv_nsec: 0 };

/// Returns the secret that agents and launcher of a job have in common.
fn secret_of_agents(key: &[u8; 32]) -> Secret {
    Secret::derive(KeyPurpose::JoiningAgents, key)
}

/// The role of a process of `canele join`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinRole {
    /// The launcher of the job.
    Launcher,
    /// The agent of a host.
    Agent,
}

/// Runs `canele join`. Its standard input is a socket to the rank that has started it.
///
/// # Errors
/// Fails if no rank started this process, or the system refuses.
pub fn serve_join(role: JoinRole) -> io::Result<()> {
    signals::set_aside_inherited();
    let starter = Socket::new(rustix::stdio::stdin().try_clone_to_owned()?);
    rustix::net::sockopt::socket_type(&starter)?;
    // No child may keep the socket open, or read from it.
    rustix::stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    let (begin, descriptor) = read_begin(&starter)?;
    match (role, descriptor) {
        (JoinRole::Launcher, None) => launcher::serve(&begin, &starter),
        (JoinRole::Agent, Some(listener)) => agent::serve(begin, listener),
        _ => Err(io::Error::other(
            "the rank that starts this has to hand over the socket of an agent, and none to a launcher",
        )),
    }
}

fn read_begin(starter: &Socket) -> io::Result<(JoinTask, Option<OwnedFd>)> {
    loop {
        match starter.try_receive::<JoinRequest>().map_err(io::Error::other)? {
            Some((JoinRequest::Begin(begin), handed)) if begin.version == VERSION => {
                return Ok((begin, handed.map(|handed| handed.memory)));
            }
            Some((JoinRequest::Begin(begin), _)) => {
                let text = format!(
                    "the program speaks version {} of the launcher's protocol, and this command version {VERSION}: use the command \
                     `canele` of the same release",
                    begin.version
                );
                return Err(io::Error::other(text));
            }
            Some(_) => return Err(io::Error::other("the rank that started this says something else first")),
            None => {
                if poll(&mut [PollFd::new(starter, PollFlags::IN)], Some(&BEGIN_TIMEOUT))? == 0 {
                    return Err(io::ErrorKind::TimedOut.into());
                }
            }
        }
    }
}

/// Prints one message of these processes.
fn say(text: &str) {
    use std::io::Write;
    // If standard error is closed, no reader exists.
    let _ = writeln!(io::stderr(), "canele: {}", canele_sys::printable::lines(text));
}
