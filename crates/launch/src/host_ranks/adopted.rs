//! A rank that this job's launcher has not started: a program that was started alone and began to start processes itself.
//!
//! Owns what tells of the end of its process, which is no child of the supervisor.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::process::{Pid, PidfdFlags, Signal, getppid, pidfd_open, pidfd_send_signal};

use crate::events::{Events, Ready, Source};

/// The process of rank 0, which is the parent of this one.
#[derive(Debug)]
pub struct Adopted {
    process: OwnedFd,
}

impl Adopted {
    /// The process `pid`, if it is this process's parent; its end is waited for.
    ///
    /// # Errors
    /// It has ended; the system cannot tell of its end (Linux before 5.3).
    pub fn parent(pid: u32, events: &Events) -> io::Result<Adopted> {
        let ended = || io::Error::other("the program that started this one has ended");
        let parent = Pid::from_raw(pid as i32).ok_or_else(ended)?;
        let process = pidfd_open(parent, PidfdFlags::empty())?;
        // As long as this process has that parent, the number was its own.
        if getppid() != Some(parent) {
            return Err(ended());
        }
        events.add(&process, Source::Adopted, Ready::IN)?;
        Ok(Adopted { process })
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        // It may have ended.
        let _ = pidfd_send_signal(&self.process, signal);
    }

    /// It has ended.
    pub fn close(self, events: &Events) {
        events.remove(self.process.as_fd());
    }
}
