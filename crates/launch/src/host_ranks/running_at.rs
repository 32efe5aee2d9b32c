//! Where processes compute: the instruction that a running thread of each is at, read while the thread is stopped for a moment.
//!
//! Ranks that do not come by cannot tell it themselves. The process that asks is an ancestor of theirs, which may trace them (ptrace(2)) where the system
//! allows any tracing; where it does not, nothing is known. A thread of its own does it: when that ends, the system lets go of all that it
//! traces, stopped or not yet, so no way out of here leaves a process stopped.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::ptrace::{self, Options};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::outside::is_running;

/// How long threads may take to stop: those that wait for a processor need longer.
const STOP_TIMEOUT: Duration = Duration::from_millis(50);
/// Between two looks whether they have.
const LOOK: Duration = Duration::from_micros(100);
/// Threads of a process among which one that runs is looked for.
const MOST_THREADS: usize = 64;

/// Of each process the address that one of its running threads is at; nothing where that is not known.
pub fn running_at(processes: &[u32]) -> Vec<Option<u64>> {
    let threads: Vec<_> = processes.iter().map(|pid| running_thread(*pid)).collect();
    let none = vec![None; processes.len()];
    if threads.iter().all(Option::is_none) {
        return none;
    }
    let tracer = thread::Builder::new().name("running-at".into()).spawn(move || addresses(&threads));
    tracer.ok().and_then(|tracer| tracer.join().ok()).unwrap_or(none)
}

/// The first thread of the process that runs.
fn running_thread(pid: u32) -> Option<Pid> {
    let folder = format!("/proc/{pid}/task");
    let threads = fs::read_dir(folder).ok()?.flatten().take(MOST_THREADS);
    let mut running = threads.filter(|thread| is_running(&thread.path()));
    running.find_map(|thread| thread.file_name().to_str()?.parse().ok()).map(Pid::from_raw)
}

/// Stops all of these threads, and reads where each is that stops in time.
fn addresses(threads: &[Option<Pid>]) -> Vec<Option<u64>> {
    let traced: Vec<Option<Pid>> =
        threads.iter().map(|thread| thread.filter(|thread| interrupt(*thread))).collect();
    let mut found = vec![None; threads.len()];
    let mut waiting: Vec<(usize, Pid)> =
        traced.iter().enumerate().filter_map(|(place, thread)| Some((place, (*thread)?))).collect();
    let until = Instant::now() + STOP_TIMEOUT;
    while !waiting.is_empty() && Instant::now() < until {
        waiting.retain(|(place, thread)| match stopped(*thread) {
            Stop::NotYet => true,
            Stop::Gone => false,
            Stop::Stopped => {
                found[*place] = instruction(*thread);
                // One that has been killed meanwhile needs no letting go.
                let _ = ptrace::detach(*thread, None);
                false
            }
        });
        thread::sleep(LOOK);
    }
    found
}

/// Asks a thread to stop, without any signal to its process.
fn interrupt(thread: Pid) -> bool {
    ptrace::seize(thread, Options::empty()).is_ok() && ptrace::interrupt(thread).is_ok()
}

enum Stop {
    NotYet,
    Stopped,
    Gone,
}

fn stopped(thread: Pid) -> Stop {
    // Only threads that this one traces: children of the others are theirs.
    let flags = WaitPidFlag::WNOHANG | WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
    match waitpid(thread, Some(flags)) {
        Ok(WaitStatus::StillAlive) => Stop::NotYet,
        Ok(WaitStatus::PtraceEvent(..) | WaitStatus::Stopped(..)) => Stop::Stopped,
        Ok(_) | Err(_) => Stop::Gone,
    }
}

#[cfg(target_arch = "x86_64")]
fn instruction(thread: Pid) -> Option<u64> {
    Some(ptrace::getregs(thread).ok()?.rip)
}

#[cfg(target_arch = "aarch64")]
fn instruction(thread: Pid) -> Option<u64> {
    Some(ptrace::getregs(thread).ok()?.pc)
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn instruction(_: Pid) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::outside::{places_of, process_state};
    use super::*;

    /// Ended with the test, however that ends.
    struct Child(std::process::Child);

    impl Drop for Child {
        fn drop(&mut self) {
            // One that has ended already needs no end.
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn child(program: &str, arguments: &[&str]) -> Child {
        Child(Command::new(program).args(arguments).spawn().unwrap())
    }

    fn until<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
        let until = Instant::now() + Duration::from_secs(60);
        loop {
            match look() {
                None if Instant::now() < until => thread::sleep(Duration::from_millis(1)),
                found => return found,
            }
        }
    }

    #[test]
    fn a_process_that_computes_is_found_and_goes_on() {
        let (shell, sleeper) = (child("sh", &["-c", "while :; do :; done"]), child("sleep", &["100"]));
        let pid = shell.0.id();
        let address = until(|| running_at(&[pid, sleeper.0.id(), 0])[0]).expect("where the shell computes");
        let place = places_of(pid, &[address + 1]);
        assert!(place.iter().all(|place| place.module.starts_with('/')) && !place.is_empty(), "{place:?}");
        // It is let go of before it runs again.
        until(|| process_state(pid).filter(|state| state.letter == "R")).expect("it goes on");
        until(|| process_state(sleeper.0.id()).filter(|state| state.letter == "S")).expect("it sleeps");
        assert_eq!(running_at(&[sleeper.0.id(), 0]), [None, None]);
    }
}
