//! Where processes compute: the instruction that a running thread of each is at, read while the thread is stopped for a moment.
//!
//! Ranks that do not come by cannot tell it themselves. The process that asks is an ancestor of theirs, which may trace them (ptrace(2)) where the system
//! allows any tracing; where it does not, nothing is known. A thread of its own does it: when that ends, the system lets go of all that it
//! traces, stopped or not yet, so no way out of here leaves a process stopped.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use canele_sys::traced_thread::{TraceStop, TracedThread};

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
fn running_thread(pid: u32) -> Option<u32> {
    let folder = format!("/proc/{pid}/task");
    let threads = fs::read_dir(folder).ok()?.flatten().take(MOST_THREADS);
    let mut running = threads.filter(|thread| is_running(&thread.path()));
    running.find_map(|thread| thread.file_name().to_str()?.parse().ok())
}

/// Stops all of these threads, and reads where each is that stops in time.
fn addresses(threads: &[Option<u32>]) -> Vec<Option<u64>> {
    let mut traced: Vec<Option<TracedThread>> =
        threads.iter().map(|thread| TracedThread::interrupt((*thread)?).ok()).collect();
    let mut found = vec![None; threads.len()];
    let until = Instant::now() + STOP_TIMEOUT;
    while traced.iter().any(Option::is_some) && Instant::now() < until {
        for (thread, address) in traced.iter_mut().zip(&mut found) {
            match thread.as_mut().map(TracedThread::poll_stop) {
                Some(TraceStop::Stopped) => {
                    *address = thread.as_ref().and_then(TracedThread::instruction);
                    thread.take().into_iter().for_each(TracedThread::release);
                }
                Some(TraceStop::Ended) => *thread = None,
                Some(TraceStop::NotYet) | None => {}
            }
        }
        thread::sleep(LOOK);
    }
    found
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
