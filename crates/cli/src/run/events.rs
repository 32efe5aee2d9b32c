//! What the launcher waits for: one epoll set in which each descriptor is known by what it is.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};
use rustix::io::Errno;

pub use rustix::event::epoll::EventFlags as Ready;
use serde::{Deserialize, Serialize};

/// One of a process's two output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Error,
}

/// What a descriptor is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The socket to the keeper.
    Keeper,
    /// The pipe into which signal handlers write.
    Signals,
    /// The control socket of a rank.
    Rank(u32),
    /// What a rank, or the remote shell of a host, prints.
    Printed(u32, Stream),
    /// Where the launcher prints.
    Sink(Stream),
    /// The launcher's standard input.
    Input,
    /// The pipe to rank 0's standard input.
    Feed,
    /// The socket on which questions about the job arrive.
    Listener,
    /// An answer being written.
    Answer(u32),
    /// What the agent on a host, or in an agent the launcher, sends.
    Incoming(u32),
    /// Where something is sent to the agent on a host, or in an agent to the launcher.
    Outgoing(u32),
}

impl Source {
    fn encode(self) -> u64 {
        let (kind, index) = match self {
            Source::Keeper => (0, 0),
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
        };
        kind << 32 | u64::from(index)
    }

    fn decode(code: u64) -> Source {
        let index = code as u32;
        match code >> 32 {
            0 => Source::Keeper,
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
            _ => Source::Outgoing(index),
        }
    }
}

/// The set of descriptors waited for. A descriptor leaves it when it is closed.
#[derive(Debug)]
pub struct Events {
    epoll: OwnedFd,
}

impl Events {
    /// An empty set.
    ///
    /// # Errors
    /// As epoll_create1(2).
    pub fn new() -> Result<Events, Errno> {
        Ok(Events { epoll: epoll::create(epoll::CreateFlags::CLOEXEC)? })
    }

    /// Adds `fd`, known as `source`.
    ///
    /// # Errors
    /// As epoll_ctl(2): `PERM` for a regular file, which is always ready.
    pub fn add(&self, fd: impl AsFd, source: Source, ready: Ready) -> Result<(), Errno> {
        epoll::add(&self.epoll, fd, epoll::EventData::new_u64(source.encode()), ready)
    }

    /// Changes what is waited for on `fd`.
    pub fn change(&self, fd: impl AsFd, source: Source, ready: Ready) {
        // Fails only for a descriptor that is not in the set, about which there is nothing to change.
        let _ = epoll::modify(&self.epoll, fd, epoll::EventData::new_u64(source.encode()), ready);
    }

    /// Takes `fd` out.
    pub fn remove(&self, fd: impl AsFd) {
        // As above.
        let _ = epoll::delete(&self.epoll, fd);
    }

    /// Waits until something is ready or `deadline` has come; an interrupted wait answers nothing.
    pub fn wait(&self, deadline: Option<Instant>) -> Vec<(Source, Ready)> {
        // Rounded up, so as not to wake just before the deadline again and again.
        let timeout = deadline.map(|at| at.saturating_duration_since(Instant::now()));
        let timeout = timeout.map(|left| left + Duration::from_micros(100));
        let timeout = timeout.and_then(|left| Timespec::try_from(left).ok());
        let mut ready = Vec::with_capacity(64);
        match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut ready), timeout.as_ref()) {
            Ok(_) => ready.iter().map(|event| (Source::decode(event.data.u64()), event.flags)).collect(),
            Err(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_survive_their_encoding() {
        for source in [
            Source::Keeper,
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
        ] {
            assert_eq!(Source::decode(source.encode()), source);
        }
    }
}
