//! Standard input of rank 0 where it cannot have the launcher's own.
//!
//! The ranks of this machine are in the background of the terminal and would be stopped for reading it; those of another
//! host have no terminal. So the launcher reads and passes on, never more than rank 0's host has room for. Anything but
//! a terminal is simply inherited by a rank 0 on this machine, so that nothing is read too far.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::events::{Events, Ready, Source};
use super::host_ranks::FEED_ROOM;

/// How often a launcher in the background looks whether it has come to the foreground.
const LOOK_AGAIN: Duration = Duration::from_millis(300);

/// The launcher's standard input, being passed on.
#[derive(Debug)]
pub struct Input {
    terminal: bool,
    room: usize,
    /// When to look whether it can be read; `None` before the start, while it is waited for, and without room.
    look_at: Option<Instant>,
}

/// What a rank 0 on this machine inherits, unless it has to be fed.
///
/// # Errors
/// As dup(2).
pub fn inherited() -> std::io::Result<Option<OwnedFd>> {
    let own = rustix::stdio::stdin();
    if rustix::termios::isatty(own) { Ok(None) } else { own.try_clone_to_owned().map(Some) }
}

impl Input {
    /// To be passed on once it is started.
    pub fn new() -> Input {
        let terminal = rustix::termios::isatty(rustix::stdio::stdin());
        Input { terminal, room: FEED_ROOM, look_at: None }
    }

    /// Rank 0 is there.
    pub fn start(&mut self) {
        self.look_at = Some(Instant::now());
    }

    /// When [`look`](Self::look) has something to do.
    pub fn deadline(&self) -> Option<Instant> {
        self.look_at
    }

    /// So much has been taken by rank 0.
    pub fn give_room(&mut self, bytes: u32) {
        if self.room == 0 {
            self.look_at = Some(Instant::now());
        }
        self.room = (self.room + bytes as usize).min(FEED_ROOM);
    }

    /// Waits for the input if it is ours now; what can always be read is. Gives what is to be passed on, nothing at the end.
    pub fn look(&mut self, now: Instant, events: &Events) -> Option<Vec<u8>> {
        if self.look_at.is_none_or(|at| now < at) {
            return None;
        }
        if self.is_in_background() {
            self.look_at = Some(now + LOOK_AGAIN);
            return None;
        }
        self.look_at = None;
        match events.add(rustix::stdio::stdin(), Source::Input, Ready::IN) {
            Ok(()) => None,
            // A file.
            Err(_) => self.read(events),
        }
    }

    /// There is something. Gives what is to be passed on, nothing at the end.
    pub fn read(&mut self, events: &Events) -> Option<Vec<u8>> {
        self.close(events);
        if self.is_in_background() {
            // Reading now would stop the launcher.
            self.look_at = Some(Instant::now() + LOOK_AGAIN);
            return None;
        }
        let mut bytes = vec![0; self.room.min(16 * 1024)];
        let count = match rustix::io::read(rustix::stdio::stdin(), &mut bytes) {
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => {
                self.look_at = Some(Instant::now());
                return None;
            }
            Err(_) => 0,
        };
        bytes.truncate(count);
        self.room -= count;
        self.look_at = (self.room > 0 && count > 0).then(Instant::now);
        Some(bytes)
    }

    fn is_in_background(&self) -> bool {
        let group = rustix::termios::tcgetpgrp(rustix::stdio::stdin());
        self.terminal && !group.is_ok_and(|group| group == rustix::process::getpgrp())
    }

    /// Waits for it no more.
    pub fn close(&self, events: &Events) {
        events.remove(rustix::stdio::stdin());
    }
}
