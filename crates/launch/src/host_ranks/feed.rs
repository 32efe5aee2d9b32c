//! The pipe to rank 0's standard input, for what the launcher reads and passes on.
//!
//! Owns its writing end and what waits for it; never more than [`ROOM`], which the launcher keeps to.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::events::{Events, Ready, Source};

/// Bytes that may be under way to rank 0 besides those in its pipe.
pub const ROOM: usize = 64 * 1024;

/// Standard input of rank 0.
#[derive(Debug)]
pub struct Feed {
    pipe: OwnedFd,
    waiting: Vec<u8>,
    ended: bool,
}

/// What came of an attempt to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fed {
    /// So many bytes went in.
    Bytes(usize),
    /// All there is to come went in; the pipe is to be closed.
    All(usize),
    /// Nobody reads it any more.
    HungUp,
}

impl Feed {
    /// What rank 0 gets as standard input, and what feeds it.
    ///
    /// # Errors
    /// As pipe2(2), epoll_ctl(2).
    pub fn open(events: &Events) -> std::io::Result<(OwnedFd, Feed)> {
        let (reader, pipe) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        // Ready for nothing: only a hang-up (rank 0 closed it) is reported.
        events.add(&pipe, Source::Feed, Ready::empty())?;
        Ok((reader, Feed { pipe, waiting: Vec::new(), ended: false }))
    }

    /// Adds to what waits; nothing: the end.
    pub fn add(&mut self, bytes: &[u8]) {
        self.ended |= bytes.is_empty();
        self.waiting.extend_from_slice(bytes);
    }

    /// Writes what the pipe takes.
    pub fn write(&mut self, events: &Events) -> Fed {
        let mut written = 0;
        while written < self.waiting.len() {
            match rustix::io::write(&self.pipe, &self.waiting[written..]) {
                Ok(count) => written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return Fed::HungUp,
            }
        }
        self.waiting.drain(..written);
        let rest = !self.waiting.is_empty();
        events.change(&self.pipe, Source::Feed, if rest { Ready::OUT } else { Ready::empty() });
        if self.ended && !rest { Fed::All(written) } else { Fed::Bytes(written) }
    }

    /// Closes the pipe; rank 0 sees the end of its input.
    pub fn close(self, events: &Events) {
        events.remove(&self.pipe);
    }
}
