//! Standard input of rank 0 when the launcher's own is a terminal.
//!
//! The ranks are in the background of the terminal and would be stopped for reading it, so the launcher reads
//! and passes on. Anything but a terminal is simply inherited by rank 0, so that nothing is read too far.

use std::io;
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};

use super::events::{Events, Ready, Source};

/// How often a launcher in the background looks whether it has come to the foreground.
const LOOK_AGAIN: Duration = Duration::from_millis(300);

/// A terminal being passed on to rank 0.
#[derive(Debug)]
pub struct Input {
    feed: OwnedFd,
    waiting: Vec<u8>,
    ended: bool,
    /// When to look again; `None` while the terminal is waited for.
    look_at: Option<Instant>,
}

impl Input {
    /// What rank 0 gets as standard input, and what feeds it, if anything has to.
    ///
    /// # Errors
    /// As pipe2(2), dup(2), epoll_ctl(2).
    pub fn open(events: &Events) -> io::Result<(OwnedFd, Option<Input>)> {
        let own = rustix::stdio::stdin();
        if !rustix::termios::isatty(own) {
            return Ok((own.try_clone_to_owned()?, None));
        }
        let (reader, feed) = pipe_with(PipeFlags::CLOEXEC)?;
        rustix::io::ioctl_fionbio(&feed, true)?;
        // Ready for nothing: only a hang-up (rank 0 closed it) is reported.
        events.add(&feed, Source::Feed, Ready::empty())?;
        let input = Input { feed, waiting: Vec::new(), ended: false, look_at: Some(Instant::now()) };
        Ok((reader, Some(input)))
    }

    /// The terminal has something. Answers false when the input has come to its end.
    pub fn read(&mut self, events: &Events) -> bool {
        if !in_foreground() {
            // Reading now would stop the launcher.
            self.leave(events);
            return true;
        }
        let mut bytes = [0; 4096];
        match rustix::io::read(rustix::stdio::stdin(), &mut bytes) {
            Ok(0) => self.ended = true,
            Ok(count) => self.waiting.extend_from_slice(&bytes[..count]),
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(_) => self.ended = true,
        }
        self.write(events)
    }

    /// Passes on what waits. Answers false when there will be nothing more to pass on.
    pub fn write(&mut self, events: &Events) -> bool {
        while !self.waiting.is_empty() {
            match rustix::io::write(&self.feed, &self.waiting) {
                Ok(count) => drop(self.waiting.drain(..count)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.leave(events);
                    self.look_at = None;
                    events.change(&self.feed, Source::Feed, Ready::OUT);
                    return true;
                }
                Err(_) => return false,
            }
        }
        if self.ended {
            return false;
        }
        events.change(&self.feed, Source::Feed, Ready::empty());
        self.look_at.get_or_insert_with(Instant::now);
        true
    }

    /// Waits for the terminal if it is ours now.
    pub fn look(&mut self, now: Instant, events: &Events) {
        if self.look_at.is_none_or(|at| now < at) {
            return;
        }
        if in_foreground() {
            self.look_at = None;
            // Already in the set after a short write: fine.
            let _ = events.add(rustix::stdio::stdin(), Source::Terminal, Ready::IN);
        } else {
            self.look_at = Some(now + LOOK_AGAIN);
        }
    }

    /// When [`look`](Self::look) has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        self.look_at
    }

    fn leave(&mut self, events: &Events) {
        events.remove(rustix::stdio::stdin());
        self.look_at = Some(Instant::now() + LOOK_AGAIN);
    }

    /// Stops passing on; rank 0 sees the end of its input.
    pub fn close(self, events: &Events) {
        events.remove(rustix::stdio::stdin());
        events.remove(&self.feed);
    }
}

fn in_foreground() -> bool {
    rustix::termios::tcgetpgrp(rustix::stdio::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}
