//! The connection of a rank to its launcher.
//!
//! Owns the control socket and its state. Waits only for the welcome and for the end of the job.

use std::io::{self, Write};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Instant;

use canele_control::{Control, ControlError, FromLauncher, JobInfo, RankPlace, ToLauncher, VERSION};
use canele_sys::ids::Rank;
use canele_sys::memory::Account;
use rustix::process::{Signal, getpid, kill_process};

use super::launcher_watch::LauncherWatch;
use crate::Error;

/// The launcher of the job, if the job has one.
pub(crate) struct Launcher {
    control: Option<Control>,
    pub watch: LauncherWatch,
    /// True once the control socket has failed: every later call is an error.
    pub is_lost: bool,
    /// System calls on the socket.
    pub system_calls: u64,
}

/// The result of a read of the control socket.
#[derive(Debug)]
pub(crate) enum ControlRead {
    Message(FromLauncher, Vec<OwnedFd>),
    Nothing,
    /// The launcher has ended.
    Closed,
    /// The socket failed.
    Lost,
}

impl Launcher {
    pub fn new(control: Option<Control>) -> Self {
        Self { control, watch: LauncherWatch::new(Instant::now()), is_lost: false, system_calls: 0 }
    }

    /// Returns true if the job has a launcher.
    pub fn is_present(&self) -> bool {
        self.control.is_some()
    }

    /// Returns the place of this rank in the job.
    pub fn place(&self) -> RankPlace {
        self.control.as_ref().map_or(RankPlace::ALONE, Control::place)
    }

    /// Sends a message, if there is a launcher.
    pub fn send(&mut self, message: &ToLauncher) -> Result<(), Error> {
        self.send_with(message, &[])
    }

    /// Sends a message with descriptors, if there is a launcher.
    pub fn send_with(&mut self, message: &ToLauncher, descriptors: &[BorrowedFd<'_>]) -> Result<(), Error> {
        let Some(control) = &self.control else { return Ok(()) };
        self.system_calls += 1;
        Ok(control.send(message, descriptors)?)
    }

    /// Sends a message if it finds room; returns true if it has left.
    pub fn try_send(&mut self, message: &ToLauncher) -> bool {
        let Some(control) = &self.control else { return false };
        self.system_calls += 1;
        control.try_tell(message)
    }

    /// Reads the next message.
    pub fn receive(&mut self) -> ControlRead {
        let Some(control) = &mut self.control else { return ControlRead::Nothing };
        self.system_calls += 1;
        match control.try_receive() {
            Ok(Some((message, descriptors))) => ControlRead::Message(message, descriptors),
            Ok(None) => ControlRead::Nothing,
            Err(ControlError::LauncherGone) => ControlRead::Closed,
            Err(_) => ControlRead::Lost,
        }
    }

    /// Waits until all ranks of the job have finished or ended. Returns false if the launcher has ended.
    pub fn await_over(&mut self) -> bool {
        let Some(control) = &mut self.control else { return true };
        loop {
            match control.receive(None) {
                Ok(Some((FromLauncher::Over, _))) => return true,
                Ok(_) | Err(ControlError::Malformed(_)) => {}
                Err(_) => return false,
            }
        }
    }

    /// Sends the hello and waits for the launcher's welcome.
    pub fn introduce(&mut self) -> Result<Option<JobInfo>, Error> {
        let Some(control) = &mut self.control else { return Ok(None) };
        control.send(&ToLauncher::Hello { version: VERSION }, &[])?;
        loop {
            match control.receive(None)? {
                Some((FromLauncher::Welcome { version: VERSION }, files)) => {
                    let mut files = files.into_iter();
                    let missing = || io::Error::other("it did not come along: is `ulimit -n` too small?");
                    let job = files.next().ok_or_else(missing).and_then(JobInfo::read);
                    files.next().map_or(Ok(()), Account::join)?;
                    let job = job.map_err(ControlError::Job)?;
                    job.check(control.place()).map_err(ControlError::Place)?;
                    return Ok(Some(job));
                }
                Some((FromLauncher::Welcome { version }, _)) => {
                    let text =
                        format!("its control messages have version {version}, this program's {VERSION}");
                    return Err(ControlError::Malformed(text).into());
                }
                Some((other, _)) => {
                    return Err(ControlError::Malformed(format!("{other:?} before its welcome")).into());
                }
                None => {}
            }
        }
    }
}

/// Ends this process, as the supervisor of the ranks does while it lives.
#[cold]
pub(super) fn end_without_launcher(me: Rank) -> ! {
    // Standard error leads to the launcher, most likely.
    let _ = writeln!(std::io::stderr(), "canele: {me}: the launcher was killed, so this rank ends");
    let _ = kill_process(getpid(), Signal::KILL);
    std::process::abort()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use canele_control::Socket;

    use super::*;

    /// Makes a rank's end of a control socket and the launcher's.
    fn pair() -> (Launcher, Socket) {
        let (ours, theirs) = Socket::pair().expect("a pair of sockets");
        (Launcher::new(Some(Control::new(RankPlace::ALONE, theirs.into()))), ours)
    }

    #[test]
    fn a_job_without_a_launcher_says_and_hears_nothing() {
        let mut launcher = Launcher::new(None);
        assert!(!launcher.is_present());
        assert!(launcher.send(&ToLauncher::Finished).is_ok());
        assert!(matches!(launcher.receive(), ControlRead::Nothing));
        assert!(matches!(launcher.introduce(), Ok(None)));
        assert_eq!(launcher.system_calls, 0);
    }

    #[test]
    fn messages_come_in_order_and_then_the_end() {
        let (mut launcher, socket) = pair();
        for name in ["a", "b"] {
            let refused = FromLauncher::PublishRefused { name: name.into() };
            socket.try_send(&refused, &[]).expect("room for a message");
        }
        for expected in ["a", "b"] {
            let ControlRead::Message(FromLauncher::PublishRefused { name }, _) = launcher.receive() else {
                panic!("a message was sent")
            };
            assert_eq!(name, expected);
        }
        assert!(matches!(launcher.receive(), ControlRead::Nothing));
        drop(socket);
        assert!(matches!(launcher.receive(), ControlRead::Closed));
    }

    #[test]
    fn a_launcher_of_another_version_is_refused_by_name() {
        let (mut launcher, socket) = pair();
        let welcome = FromLauncher::Welcome { version: VERSION + 1 };
        socket.try_send(&welcome, &[]).expect("room for a message");
        let error = launcher.introduce().expect_err("another version").to_string();
        assert!(error.contains(&(VERSION + 1).to_string()), "{error}");
    }

    #[test]
    fn a_job_that_does_not_have_this_rank_is_refused() {
        let (mut launcher, socket) = pair();
        let job = JobInfo { size: 2, ..crate::core::job_alone() };
        let file = job.write().expect("a memfd");
        socket
            .try_send(&FromLauncher::Welcome { version: VERSION }, &[file.as_fd()])
            .expect("room for a message");
        let error = launcher.introduce().expect_err("a job of two ranks").to_string();
        assert!(error.contains("canele run") && error.contains("1 ranks"), "{error}");
    }
}
