//! The events that the launcher waits for: one set of descriptors, each identified by its source.

use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use canele_sys::exhausted::pause_if_exhausted;
use canele_sys::poller::Poller;
pub use canele_sys::poller::Ready;
use rustix::event::{Timespec, epoll, poll};
use rustix::io::Errno;
use rustix::net::{SocketFlags, accept_with};
use serde::{Deserialize, Serialize};

use super::refused::refused;

/// The most connections that are closed in a row.
const ARRIVALS_AT_A_TIME: usize = 64;

/// One of a process's two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Error,
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stream::Out => "standard output",
            Stream::Error => "standard error",
        })
    }
}

/// A source of events that a descriptor in the set stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The socket to the supervisor.
    Supervisor,
    /// The pipe into which signal handlers write.
    Signals,
    /// The control socket of a rank.
    Rank(u32),
    /// The control socket of a further lane of a rank.
    Lane(u32),
    /// The output of a rank, or of the remote shell of a host.
    Printed(u32, Stream),
    /// The stream to which the launcher prints.
    Sink(Stream),
    /// The launcher's standard input.
    Input,
    /// The pipe to rank 0's standard input.
    Feed,
    /// The socket on which questions about the job arrive.
    Listener,
    /// An answer being written.
    Answer(u32),
    /// Data from the agent on a host, or in an agent from the launcher.
    Incoming(u32),
    /// Room for data to the agent on a host, or in an agent to the launcher.
    Outgoing(u32),
    /// The end of a rank that was not started by its launcher.
    Adopted(u32),
    /// The end of a process that has started ranks instead of the launcher.
    Starter(u32),
    /// A socket at which ranks or agents arrive, for a job that another launcher has started.
    JoinListener(u32),
    /// A connection that has arrived there.
    Joining(u32),
    /// The socket on which launchers of other jobs arrive.
    JobListener,
    /// The link to another job.
    JobLink(u32),
    /// The listener of a name that other jobs find here.
    Announced(u32),
    /// A search for a name in other jobs.
    Search(u32),
    /// One of the sockets of [`Events::close_arrivals`].
    Arrival(u32),
    /// The end of the process with which the job ends.
    EndWith,
}

impl Source {
    fn encode(self) -> u64 {
        let (kind, index) = match self {
            Source::Supervisor => (0, 0),
            Source::Signals => (1, 0),
            Source::Rank(rank) => (2, rank),
            Source::Printed(rank, Stream::Out) => (3, rank),
            Source::Printed(rank, Stream::Error) => (4, rank),
            Source::Sink(Stream::Out) => (5, 0),
            Source::Sink(Stream::Error) => (6, 0),
            Source::Input => (7, 0),
            Source::Feed => (8, 0),
            Source::Listener => (9, 0),
            Source::Answer(index) => (10, index),
            Source::Incoming(index) => (11, index),
            Source::Outgoing(index) => (12, index),
            Source::Adopted(rank) => (13, rank),
            Source::JobListener => (14, 0),
            Source::JobLink(index) => (15, index),
            Source::Announced(index) => (16, index),
            Source::Search(index) => (17, index),
            Source::Starter(index) => (18, index),
            Source::JoinListener(index) => (19, index),
            Source::Joining(index) => (20, index),
            Source::Arrival(index) => (21, index),
            Source::Lane(index) => (22, index),
            Source::EndWith => (23, 0),
        };
        kind << 32 | u64::from(index)
    }

    fn decode(code: u64) -> Source {
        let index = code as u32;
        match code >> 32 {
            0 => Source::Supervisor,
            1 => Source::Signals,
            2 => Source::Rank(index),
            3 => Source::Printed(index, Stream::Out),
            4 => Source::Printed(index, Stream::Error),
            5 => Source::Sink(Stream::Out),
            6 => Source::Sink(Stream::Error),
            7 => Source::Input,
            8 => Source::Feed,
            9 => Source::Listener,
            10 => Source::Answer(index),
            11 => Source::Incoming(index),
            12 => Source::Outgoing(index),
            13 => Source::Adopted(index),
            14 => Source::JobListener,
            15 => Source::JobLink(index),
            16 => Source::Announced(index),
            17 => Source::Search(index),
            18 => Source::Starter(index),
            19 => Source::JoinListener(index),
            20 => Source::Joining(index),
            21 => Source::Arrival(index),
            22 => Source::Lane(index),
            _ => Source::EndWith,
        }
    }
}

/// The set of descriptors that the launcher waits for. A descriptor leaves it when it is closed.
#[derive(Debug)]
pub struct Events {
    poller: Poller,
    /// Sockets whose connections are no longer needed.
    closing: Vec<OwnedFd>,
}

impl Events {
    /// Returns an empty set. The system calls of a wait are tried here: under a sandbox that denies one, each
    /// wait would end at once, for ever.
    ///
    /// # Errors
    /// Fails as epoll_create1(2), epoll_pwait(2) and ppoll(2) do.
    pub fn new() -> io::Result<Events> {
        let (purpose, remedy) = ("to wait for the ranks", "let the sandbox allow it");
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let create = refused("epoll_create1", purpose, "raise `ulimit -n`, or let the sandbox allow it");
        let poller = Poller::new().map_err(create)?;
        let mut room = [MaybeUninit::<epoll::Event>::uninit(); 1];
        match epoll::wait(&poller, &mut room, Some(&now)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(refused("epoll_pwait", purpose, remedy)(errno)),
        }
        match poll(&mut [], Some(&now)) {
            Ok(_) | Err(Errno::INTR) => Ok(Events { poller, closing: Vec::new() }),
            Err(errno) => Err(refused("ppoll", purpose, remedy)(errno)),
        }
    }

    /// Adds `fd`, identified as `source`.
    ///
    /// # Errors
    /// Fails as epoll_ctl(2) does: `PERM` for a regular file, which is always ready.
    pub fn add(&self, fd: impl AsFd, source: Source, ready: Ready) -> Result<(), Errno> {
        self.poller.add(fd, source.encode(), ready)
    }

    /// Changes the events that are waited for on `fd`.
    pub fn change(&self, fd: impl AsFd, source: Source, ready: Ready) {
        // This fails only for a descriptor that is not in the set, which needs no change.
        let _ = self.poller.change(fd, source.encode(), ready);
    }

    /// Removes `fd`.
    pub fn remove(&self, fd: impl AsFd) {
        // This fails only for a descriptor that is not in the set.
        let _ = self.poller.remove(fd);
    }

    /// Keeps these listeners and closes connections that arrive there: their processes only check
    /// the user that listens.
    pub fn close_arrivals(&mut self, listeners: Vec<OwnedFd>) {
        for listener in listeners {
            // Without it the queue fills, and such processes do not learn the listening user.
            let _ = self.add(&listener, Source::Arrival(self.closing.len() as u32), Ready::IN);
            self.closing.push(listener);
        }
    }

    /// Closes a bounded number of connections that have arrived.
    fn close_some(&self, listener: u32) {
        let Some(listener) = self.closing.get(listener as usize) else { return };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let accept = |_: &usize| accept_with(listener, flags).map_err(pause_if_exhausted).is_ok();
        (0..ARRIVALS_AT_A_TIME).take_while(accept).for_each(drop);
    }

    /// Waits until a source is ready or `deadline` has come; an interrupted wait returns nothing.
    pub fn wait(&self, deadline: Option<Instant>) -> Vec<(Source, Ready)> {
        // The time is rounded up, so as not to wake repeatedly just before the deadline.
        let timeout = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let timeout = timeout.map(|left| left + Duration::from_micros(100));
        let mut ready = Vec::new();
        self.poller.wait(timeout, |found| match Source::decode(found.token) {
            Source::Arrival(listener) => self.close_some(listener),
            source => ready.push((source, found.ready)),
        });
        ready
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_survive_their_encoding() {
        for source in [
            Source::Supervisor,
            Source::Signals,
            Source::Rank(u32::MAX),
            Source::Printed(7, Stream::Out),
            Source::Printed(7, Stream::Error),
            Source::Sink(Stream::Out),
            Source::Sink(Stream::Error),
            Source::Input,
            Source::Feed,
            Source::Listener,
            Source::Answer(3),
            Source::Incoming(4),
            Source::Outgoing(5),
            Source::Adopted(9),
            Source::Starter(1),
            Source::JoinListener(2),
            Source::Joining(3),
            Source::JobListener,
            Source::JobLink(6),
            Source::Announced(7),
            Source::Search(8),
            Source::Arrival(9),
            Source::Lane(10),
            Source::EndWith,
        ] {
            assert_eq!(Source::decode(source.encode()), source);
        }
    }
}
