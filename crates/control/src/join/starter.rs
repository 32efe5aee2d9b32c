//! The process that has started this rank, watched while the rank joins. Calls that wait for a dead launcher,
//! such as `PMIx_Init` and `PMIx_Commit`, may never return. Owns the watching thread.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::thread::{Builder, JoinHandle};

use canele_sys::printable;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{PidfdFlags, Signal, getpid, getppid, kill_process, pidfd_open};

/// Variables by which launchers give a process its number.
const NUMBERS: [&str; 3] = ["PMI_RANK", "PMI_ID", "PMIX_RANK"];

/// Ends this process if the one that has started it ends before this value is dropped.
#[derive(Debug)]
pub(super) struct StarterWatch {
    /// A descriptor whose closing ends the thread; `None` once it is closed.
    end: Option<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl StarterWatch {
    /// Watches the process that has started this one, if the environment's variables show that it is a
    /// launcher. Returns `None` also if it cannot be watched: in another namespace, and before Linux 5.3.
    pub fn begin(get: &impl Fn(&str) -> Option<String>) -> Option<StarterWatch> {
        let rank = NUMBERS.iter().find_map(|name| get(name))?;
        let starter = getppid()?;
        let process = pidfd_open(starter, PidfdFlags::empty()).ok();
        if getppid() != Some(starter) {
            end_this_process(&rank);
        }
        let process = process?;
        let (until, end) = pipe_with(PipeFlags::CLOEXEC).ok()?;
        let watch = move || {
            if starter_ends(&process, &until) {
                end_this_process(&rank);
            }
        };
        let thread = Builder::new().name("canele-joining".into()).spawn(watch).ok()?;
        Some(StarterWatch { end: Some(end), thread: Some(thread) })
    }
}

impl Drop for StarterWatch {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            // The thread never panics.
            let _ = thread.join();
        }
    }
}

/// Waits until the process or the watch ends; returns true if the process did.
fn starter_ends(process: &OwnedFd, until: &OwnedFd) -> bool {
    loop {
        let mut either = [PollFd::new(until, PollFlags::IN), PollFd::new(process, PollFlags::IN)];
        match poll(&mut either, None) {
            Err(Errno::INTR) => {}
            Err(_) => return false,
            Ok(_) if !either[0].revents().is_empty() => return false,
            Ok(_) => return true,
        }
    }
}

/// Ends this process by a signal, as the agent ends ranks that outlive their starters. Its threads may wait
/// in calls that never return, so there is no orderly exit.
fn end_this_process(rank: &str) {
    let why = "the process of the launcher that had started it has ended";
    // A closed standard error changes nothing.
    let _ = writeln!(io::stderr(), "canele: rank {} cannot join its job: {why}", printable::lines(rank));
    let _ = kill_process(getpid(), Signal::KILL);
}
