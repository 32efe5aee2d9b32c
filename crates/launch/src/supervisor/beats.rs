//! Beats that the supervisor sends while the launcher or agent that started it is stopped: a stopped process
//! is not dead.
//!
//! Owns copies of the streams that the starter writes. Writes nothing there while the starter runs, so a
//! starter that hangs sends no beats.

use std::collections::HashMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use canele_secure::{BeatKey, BeatSealer};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getppid, kill_process};

use crate::remote::stand_in_beat;

/// The streams of the process that started this one.
#[derive(Default)]
pub struct StarterBeats {
    starter: Option<(Pid, File)>,
    streams: HashMap<u32, (OwnedFd, BeatSealer)>,
    every: Duration,
    next: Option<Instant>,
}

impl StarterBeats {
    /// Adds a stream on which beats are sent at this interval while the starter is stopped.
    pub fn add(&mut self, number: u32, stream: OwnedFd, key: BeatKey, every: Duration) {
        if self.starter.is_none() {
            let stat = |pid: Pid| File::open(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok();
            self.starter = getppid().and_then(|pid| Some((pid, stat(pid)?)));
        }
        self.streams.insert(number, (stream, BeatSealer::new(key)));
        self.every = every;
        self.next.get_or_insert(Instant::now() + every);
    }

    /// Closes a stream, which the starter has closed.
    pub fn remove(&mut self, number: u32) {
        self.streams.remove(&number);
        if self.streams.is_empty() {
            self.next = None;
        }
    }

    /// Returns the next time at which [`look`](Self::look) has work.
    pub fn deadline(&self) -> Option<Instant> {
        self.next
    }

    /// Sends beats if it is time and the starter is stopped. A starter whose streams are all broken is
    /// resumed, so that it learns of that.
    pub fn look(&mut self, now: Instant) {
        let Some((starter, stat)) = self.starter.as_ref().filter(|_| self.next.is_some_and(|at| now >= at))
        else {
            return;
        };
        self.next = Some(now + self.every);
        if !is_stopped(stat) {
            return;
        }
        self.streams.retain(|_, (stream, sealer)| send_beat(stream, sealer));
        if self.streams.is_empty() {
            let _ = kill_process(*starter, Signal::CONT);
            self.next = None;
        }
    }
}

/// Sends a beat; returns true if the stream still has a reader. If the stream is full, the waiting bytes
/// prove as well that the starter lives.
fn send_beat(stream: &OwnedFd, sealer: &mut BeatSealer) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut ready = [PollFd::new(stream, PollFlags::OUT)];
    match poll(&mut ready, Some(&now)) {
        Ok(count) if count > 0 => {
            let beat = stand_in_beat(&sealer.seal_beat());
            matches!(rustix::io::write(stream, &beat), Ok(_) | Err(Errno::AGAIN | Errno::INTR))
        }
        _ => true,
    }
}

/// Returns true if a signal or a debugger has stopped the process, whose `/proc/PID/stat` this is.
fn is_stopped(stat: &File) -> bool {
    let mut bytes = [0; 512];
    let count = stat.read_at(&mut bytes, 0).unwrap_or(0);
    // The state follows the name, which is in brackets and may hold any byte.
    let after_name = bytes[..count].iter().rposition(|&byte| byte == b')');
    let state = after_name.and_then(|at| bytes[..count].get(at + 2));
    matches!(state, Some(b'T' | b't'))
}
