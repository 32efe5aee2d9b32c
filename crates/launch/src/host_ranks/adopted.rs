//! A rank that the launcher of its job has not started. It is a program that was started alone and then
//! starts processes itself, or one that a launcher of another system has started.
//!
//! Owns the descriptor that reports the end of its process, which is no child of the supervisor.

use canele_sys::bounded_read::read_kernel;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use canele_sys::pidfd;
use rustix::process::{Pid, PidfdFlags, Signal, getppid, pidfd_open, pidfd_send_signal};

use crate::events::{Events, Ready, Source};
use crate::failure::Exit;

/// The process of a rank.
#[derive(Debug)]
pub struct Adopted {
    /// The rank.
    pub rank: u32,
    pid: u32,
    process: OwnedFd,
}

impl Adopted {
    /// Adopts the process `pid` as rank 0, if it is this process's parent, and watches for its end.
    ///
    /// # Errors
    /// Fails if it has ended, or the system cannot report its end (Linux before 5.3).
    pub fn parent(pid: u32, events: &Events) -> io::Result<Adopted> {
        let ended = || io::Error::other("the program that started this one has ended");
        let parent = Pid::from_raw(pid as i32).ok_or_else(ended)?;
        let process = pidfd_open(parent, PidfdFlags::empty())?;
        // While this process has that parent, the number belongs to the parent.
        if getppid() != Some(parent) {
            return Err(ended());
        }
        Ok(Adopted::new(0, pid, process, events)?)
    }

    /// Adopts a rank whose end `process` reports, and watches for it.
    ///
    /// # Errors
    /// Fails as epoll_ctl(2) does.
    pub fn new(rank: u32, pid: u32, process: OwnedFd, events: &Events) -> rustix::io::Result<Adopted> {
        events.add(&process, Source::Adopted(rank), Ready::IN)?;
        Ok(Adopted { rank, pid, process })
    }

    /// Returns the process that has started `pid`, as far as the system tells.
    pub fn parent_of(pid: u32) -> Option<Pid> {
        let line = read_kernel(format!("/proc/{pid}/stat")).ok()?;
        let (_, fields) = line.rsplit_once(") ")?;
        Pid::from_raw(fields.split_ascii_whitespace().nth(1)?.parse().ok()?)
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        // The process may have ended.
        let _ = pidfd_send_signal(&self.process, signal);
    }

    /// Returns the exit of the process. Its file in `/proc` reports it until the parent waits for the
    /// process, which may happen at any moment. The descriptor reports it afterwards.
    pub fn exit(&self) -> Exit {
        let reaped = || pidfd::status_of_reaped(&self.process);
        let line = || read_kernel(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        let status = reaped().or_else(|| status_in(&line())).or_else(reaped);
        status.map_or(Exit::Unknown, |status| match status & 0x7f {
            0 => Exit::Status((status >> 8) as u8),
            signal => Exit::Signal(signal as u8),
        })
    }

    /// Stops watching a process that has ended.
    pub fn close(self, events: &Events) {
        events.remove(self.process.as_fd());
    }
}

/// Returns the status of an ended process, as wait(2) gives it: the last word of its line of
/// proc_pid_stat(5). The state follows the name, which may hold any bytes.
fn status_in(line: &str) -> Option<u32> {
    let (_, fields) = line.rsplit_once(") ")?;
    let mut words = fields.split_ascii_whitespace();
    let has_ended = words.next() == Some("Z");
    words.next_back().filter(|_| has_ended)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn ends(script: &str, how: Exit) {
        let mut child = Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap();
        let pid = Pid::from_raw(child.id() as i32).unwrap();
        let adopted =
            Adopted { rank: 0, pid: child.id(), process: pidfd_open(pid, PidfdFlags::empty()).unwrap() };
        assert_eq!(adopted.exit(), Exit::Unknown, "it waits for its input");
        drop(child.stdin.take());
        let mut ready = [rustix::event::PollFd::new(&adopted.process, rustix::event::PollFlags::IN)];
        rustix::event::poll(&mut ready, None).unwrap();
        assert_eq!(adopted.exit(), how);
        child.wait().unwrap();
        // Older kernels no longer report it.
        let after = adopted.exit();
        assert!(after == how || after == Exit::Unknown, "{after:?}, not {how:?}");
    }

    #[test]
    fn how_a_process_of_others_ended_is_known() {
        ends("read word; kill -KILL $$", Exit::Signal(9));
        ends("read word; exit 3", Exit::Status(3));
        assert_eq!(status_in("7 (a) Z 1) S 1 2 0"), None);
    }

    #[test]
    fn the_parent_of_a_process_is_known() {
        assert_eq!(Adopted::parent_of(std::process::id()), getppid());
        assert_eq!(Adopted::parent_of(u32::MAX), None);
    }
}
