//! The pipes to the standard input of those ranks of a host that get it. The launcher reads the data and
//! passes it on to the host.
//!
//! Owns the writing ends of the pipes and the data that the slowest rank has not taken. It is never more than
//! [`ROOM`], which the launcher respects.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use crate::events::{Events, Ready, Source};

/// The number of bytes that may be under way to a host besides those in its pipes.
pub const ROOM: usize = 64 * 1024;

/// The standard input of ranks.
#[derive(Debug)]
pub struct Feed {
    /// The number of pipes that are not opened yet.
    to_open: usize,
    ends: Vec<End>,
    /// Bytes that one of the pipes has not taken.
    waiting: Vec<u8>,
    ended: bool,
}

#[derive(Debug)]
struct End {
    pipe: OwnedFd,
    /// The number of waiting bytes that this pipe has taken.
    taken: usize,
}

/// The result of an attempt to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fed {
    /// Every pipe has taken this many bytes.
    Bytes(usize),
    /// Nothing more is written, because the input has ended or no rank reads it any more.
    Over,
}

impl Feed {
    /// Returns the feed of `ranks` ranks.
    pub fn new(ranks: usize) -> Feed {
        Feed { to_open: ranks, ends: Vec::new(), waiting: Vec::new(), ended: false }
    }

    /// Opens the pipe that the next rank gets as standard input.
    ///
    /// # Errors
    /// Fails as pipe2(2) and epoll_ctl(2) do.
    pub fn open(&mut self, events: &Events) -> std::io::Result<OwnedFd> {
        let (reader, pipe) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&pipe, true)?;
        // The set of events is empty: only a hang-up (the rank closed it) is reported.
        events.add(&pipe, Source::Feed, Ready::empty())?;
        self.to_open = self.to_open.saturating_sub(1);
        self.ends.push(End { pipe, taken: 0 });
        Ok(reader)
    }

    /// Adds waiting bytes; no bytes mean the end.
    pub fn add(&mut self, bytes: &[u8]) {
        self.ended |= bytes.is_empty();
        self.waiting.extend_from_slice(bytes);
    }

    /// Writes to the pipes, and closes those that have no reader or need no more.
    pub fn write(&mut self, events: &Events) -> Fed {
        let (waiting, ended) = (&self.waiting, self.ended);
        self.ends.retain_mut(|end| {
            let goes_on = !end.is_hung_up() && end.write(waiting) && !(ended && end.taken == waiting.len());
            if goes_on {
                let rest = end.taken < waiting.len();
                events.change(&end.pipe, Source::Feed, if rest { Ready::OUT } else { Ready::empty() });
            } else {
                events.remove(&end.pipe);
            }
            goes_on
        });
        if self.ends.is_empty() && self.to_open == 0 {
            return Fed::Over;
        }
        let everywhere = self.ends.iter().map(|end| end.taken).min().unwrap_or(0);
        self.waiting.drain(..everywhere);
        self.ends.iter_mut().for_each(|end| end.taken -= everywhere);
        Fed::Bytes(everywhere)
    }
}

impl End {
    /// Writes until the pipe is full. Returns false if it has no reader.
    fn write(&mut self, waiting: &[u8]) -> bool {
        while self.taken < waiting.len() {
            match rustix::io::write(&self.pipe, &waiting[self.taken..]) {
                Ok(count) => self.taken += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(_) => return false,
            }
        }
        true
    }

    fn is_hung_up(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut look = [PollFd::new(&self.pipe, PollFlags::empty())];
        poll(&mut look, Some(&now)).is_ok_and(|count| count > 0) && look[0].revents().contains(PollFlags::ERR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(end: &OwnedFd) -> Vec<u8> {
        let mut bytes = vec![0; 1 << 17];
        let count = rustix::io::read(end, &mut bytes).unwrap();
        bytes.truncate(count);
        bytes
    }

    #[test]
    fn all_ranks_get_the_same_and_the_slowest_makes_room() {
        let events = Events::new().unwrap();
        let mut feed = Feed::new(2);
        let first = feed.open(&events).unwrap();
        feed.add(&vec![b'x'; ROOM]);
        assert_eq!(feed.write(&events), Fed::Bytes(ROOM), "a pipe has that room");
        let second = feed.open(&events).unwrap();
        feed.add(b"rest");
        assert_eq!(feed.write(&events), Fed::Bytes(0), "the first pipe is full");
        assert_eq!((read(&second), read(&first).len()), (b"rest".to_vec(), ROOM));
        assert_eq!(feed.write(&events), Fed::Bytes(4));
        drop(first);
        assert_eq!(feed.write(&events), Fed::Bytes(0));
        feed.add(b"");
        assert_eq!(feed.write(&events), Fed::Over);
        assert!(read(&second).is_empty(), "the end");
    }

    #[test]
    fn a_feed_whose_ranks_read_no_more_is_over() {
        let events = Events::new().unwrap();
        let mut feed = Feed::new(2);
        drop(feed.open(&events).unwrap());
        assert_eq!(feed.write(&events), Fed::Bytes(0), "another rank is still to start");
        drop(feed.open(&events).unwrap());
        assert_eq!(feed.write(&events), Fed::Over);
    }
}
