//! A keeper in the hands of the process that started it.
//!
//! Owns the keeper's process and the socket to it, and does its work should it die: every process that starts a keeper is
//! a sub-reaper too. Never starts anything else itself.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use canele_engine::control::{SendError, Socket};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Resource, Rlimit, getrlimit, set_child_subreaper, setrlimit};

use super::descendants;
use super::events::{Events, Ready, Source};
use super::keeper::{FromKeeper, ToKeeper};
use super::plan::Plan;

/// How much longer than it was given the keeper may take to end everything before its work is done here.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// A keeper.
#[derive(Debug)]
pub struct Kept {
    socket: Socket,
    process: Child,
}

/// The keeper is gone.
#[derive(Debug)]
pub struct Died;

impl Kept {
    /// Starts a keeper, this executable again, for what `plan` describes. After it this process may open as many files as
    /// the system lets it; the ranks keep the limit the user chose.
    ///
    /// # Errors
    /// Whatever the system refuses, most likely descriptors.
    pub fn start(plan: &Plan, events: &Events) -> io::Result<Kept> {
        set_child_subreaper(Some(rustix::process::getpid()))?;
        let (socket, its) = Socket::pair()?;
        let process = Command::new("/proc/self/exe")
            // Not our own name: whoever kills all of that name shall leave somebody who tidies up.
            .arg0("rank-keeper")
            .arg("keep")
            .arg(std::process::id().to_string())
            .stdin(Stdio::from(OwnedFd::from(its)))
            .stdout(Stdio::null())
            // Out of reach of the terminal's signals: the launcher forwards them.
            .process_group(0)
            .spawn()?;
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })?;
        events.add(&socket, Source::Keeper, Ready::IN)?;
        socket.try_send(&ToKeeper::Begin, &[plan.write()?.as_fd()]).map_err(io::Error::other)?;
        Ok(Kept { socket, process })
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sends it a message.
    pub fn tell(&self, message: &ToKeeper, descriptors: &[BorrowedFd]) {
        // At most a few messages are ever under way, so it is not full for long; if the keeper is gone, its
        // socket says so next.
        while let Err(SendError::Full) = self.socket.try_send(message, descriptors) {
            let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::OUT)], None);
        }
    }

    /// Its next message, if there is one.
    ///
    /// # Errors
    /// It is gone.
    pub fn hear(&self) -> Result<Option<FromKeeper>, Died> {
        match self.socket.try_receive() {
            Ok(received) => Ok(received.map(|(message, _)| message)),
            Err(_) => Err(Died),
        }
    }

    /// Ends every process below, because nobody else is left to. Answers those that could not be ended.
    pub fn take_over(&mut self) -> Vec<u32> {
        let since = descendants::started(self.pid());
        // It may be hung rather than dead.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let left = descendants::kill_all(since, PATIENCE);
        left.iter().map(|pid| pid.as_raw_nonzero().get() as u32).collect()
    }

    /// Collects it after its last message.
    pub fn collect(&mut self) {
        let _ = self.process.wait();
    }
}
