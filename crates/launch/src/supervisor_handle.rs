//! The supervisor's process, as the process that started it sees it.
//!
//! Owns the supervisor's process and the socket to it, and ends the processes below if the supervisor dies.
//! For that, every process that starts a supervisor is a sub-reaper too. Never starts any other process
//! itself.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use canele_control::{Socket, send_until_taken};
use canele_sys::signals;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, getpid, getrlimit, kill_process, set_child_subreaper,
    setrlimit, waitpid,
};

use super::descendants;
use super::events::{Events, Ready, Source};
use super::plan::Plan;
use super::refused::refused;
use super::supervisor::{FromSupervisor, ToSupervisor};

/// The additional time that the supervisor has to end everything. After it this process does so.
pub const ENDING_TIMEOUT: Duration = Duration::from_secs(3);

/// The pause before a supervisor that does not read is resumed again: it may have been stopped once more.
const RESUME_AGAIN: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// A supervisor process and its socket.
#[derive(Debug)]
pub struct SupervisorHandle {
    socket: Socket,
    process: Child,
}

/// The error that the supervisor is gone.
#[derive(Debug)]
pub struct Died;

impl SupervisorHandle {
    /// Starts a supervisor, which runs this executable again, for the processes of `plan`. This process, the
    /// supervisor and its processes may open as many files as the hard limit allows. The soft limit exists
    /// for programs that call select(2).
    ///
    /// # Errors
    /// Fails with any error of the system, most likely for lack of descriptors.
    pub fn start(plan: &Plan, events: &Events) -> io::Result<SupervisorHandle> {
        set_child_subreaper(Some(rustix::process::getpid()))?;
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
        check_waits()?;
        let (socket, its) = Socket::pair()?;
        let mut command = Command::new("/proc/self/exe");
        command
            // The name differs from the launcher's: if a user kills all processes of that name, this one must
            // remain to clean up.
            .arg0("rank-supervisor")
            .arg("supervise")
            .arg(std::process::id().to_string())
            .stdin(Stdio::from(OwnedFd::from(its)))
            .stdout(Stdio::null())
            // In a process group of its own the terminal's signals do not reach it: the launcher forwards
            // them.
            .process_group(0);
        let process = signals::with_inherited(|| command.spawn()).map_err(refused(
            "executing /proc/self/exe",
            "to start the process that holds the ranks",
            "mount /proc, and let the user start another process",
        ))?;
        // From here on the supervisor is told if this process gives up.
        let handle = SupervisorHandle { socket, process };
        events.add(&handle.socket, Source::Supervisor, Ready::IN)?;
        handle.socket.try_send(&ToSupervisor::Begin, &[plan.write()?.as_fd()]).map_err(io::Error::other)?;
        Ok(handle)
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends the supervisor a message, which it handles even if a signal has stopped it.
    pub fn send(&self, message: &ToSupervisor, descriptors: &[BorrowedFd]) {
        // The supervisor always reads, so its queue is not full for long; if it is gone, its socket shows
        // that next.
        let attempt = || {
            let sent = self.socket.try_send(message, descriptors);
            self.resume();
            sent
        };
        let wait_for_room = || {
            let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::OUT)], Some(&RESUME_AGAIN));
            Ok(())
        };
        let _ = send_until_taken(attempt, wait_for_room);
    }

    /// Resumes the supervisor. It is not reaped yet, so its number is still its own.
    fn resume(&self) {
        let _ = kill_process(Pid::from_child(&self.process), Signal::CONT);
    }

    /// Returns the supervisor's next message, if there is one.
    ///
    /// # Errors
    /// Fails if the supervisor is gone.
    pub fn try_receive(&self) -> Result<Option<FromSupervisor>, Died> {
        match self.socket.try_receive() {
            Ok(received) => Ok(received.map(|(message, _)| message)),
            Err(_) => Err(Died),
        }
    }

    /// Ends every process below this one, because the supervisor is gone. Returns those that could not be
    /// ended.
    pub fn take_over(&mut self) -> Vec<u32> {
        let since = descendants::started(self.pid());
        // The supervisor may hang rather than be dead.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let left = descendants::kill_all(since, ENDING_TIMEOUT);
        left.iter().map(|pid| pid.as_raw_nonzero().get() as u32).collect()
    }

    /// Reaps the supervisor after its last message.
    pub fn collect(&mut self) {
        let _ = self.process.wait();
    }
}

/// Checks that the system reports the ends of children. It reaps none of this process's children.
fn check_waits() -> io::Result<()> {
    match waitpid(Some(getpid()), WaitOptions::NOHANG) {
        Ok(_) | Err(Errno::CHILD | Errno::INTR) => Ok(()),
        Err(errno) => {
            Err(refused("wait4", "to learn of the ends of ranks", "let the sandbox allow it")(errno))
        }
    }
}

impl Drop for SupervisorHandle {
    fn drop(&mut self) {
        // The supervisor may have ended already.
        let _ = self.socket.try_send(&ToSupervisor::Leave, &[]);
    }
}
