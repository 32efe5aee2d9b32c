//! The process of another program with which the job ends, as `--end-with` names it.
//!
//! Owns the descriptor that reports its end. Does not end the job.

use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::events::{Events, Ready, Source};
use super::output::Output;

/// A watched process.
#[derive(Debug)]
pub struct EndWith {
    /// Its number.
    pub pid: u32,
    process: OwnedFd,
}

impl EndWith {
    /// Watches the process `pid` of this host. A system that cannot report its end (Linux before 5.3, some sandboxes)
    /// is no error: a line of output says so.
    ///
    /// # Errors
    /// Fails if there is no such process.
    pub fn watch_if_possible(
        pid: Option<u32>,
        events: &Events,
        output: &mut Output,
    ) -> io::Result<Option<EndWith>> {
        let Some(pid) = pid else { return Ok(None) };
        match EndWith::watch(pid, events) {
            Ok(end_with) => Ok(Some(end_with)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(error),
            Err(error) => {
                output.say(&format!("{error}; the job will not end with it"));
                Ok(None)
            }
        }
    }

    fn watch(pid: u32, events: &Events) -> io::Result<EndWith> {
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw);
        let opened = number.ok_or(Errno::SRCH).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()));
        let process = opened.map_err(|errno| match errno {
            Errno::SRCH => {
                let text = format!("--end-with {pid}: there is no such process on this host");
                io::Error::new(io::ErrorKind::NotFound, text)
            }
            errno => io::Error::other(format!("--end-with {pid}: the system does not report ends: {errno}")),
        })?;
        events.add(&process, Source::EndWith, Ready::IN)?;
        Ok(EndWith { pid, process })
    }

    /// Stops watching a process that has ended.
    pub fn close(self, events: &Events) {
        events.remove(&self.process);
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn the_end_of_a_process_is_an_event() {
        let events = Events::new().unwrap();
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let end_with = EndWith::watch(child.id(), &events).unwrap();
        assert_eq!(events.wait(Some(Instant::now())), []);
        drop(child.stdin.take());
        child.wait().unwrap();
        let ready = events.wait(Some(Instant::now() + Duration::from_secs(60)));
        assert!(matches!(ready[..], [(Source::EndWith, _)]), "{ready:?}");
        end_with.close(&events);
        assert_eq!(events.wait(Some(Instant::now())), []);
    }

    #[test]
    fn a_process_that_is_not_there_is_named() {
        for pid in [0, u32::MAX] {
            let error = EndWith::watch(pid, &Events::new().unwrap()).unwrap_err();
            assert_eq!(error.to_string(), format!("--end-with {pid}: there is no such process on this host"));
        }
    }
}
