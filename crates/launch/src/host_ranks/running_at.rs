//! The code address that a running thread of each process is at, read while the thread is stopped for a
//! moment.
//!
//! Ranks outside of the library cannot report it themselves. The asking process is an ancestor of the ranks,
//! so it may trace them (ptrace(2)) if the system allows any tracing; otherwise the address is unknown. A
//! separate thread traces them. When that thread ends, the system releases all that it traces, stopped or not
//! yet, so no error here leaves a process stopped.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use canele_sys::traced_thread::{TraceStop, TracedThread};

use super::outside::is_running;

/// The time in which threads must stop. Threads that wait for a processor need longer.
const STOP_TIMEOUT: Duration = Duration::from_millis(50);
/// The pause between two checks for stopped threads.
const LOOK: Duration = Duration::from_micros(100);
/// The most threads of a process that are searched for a running one.
const MOST_THREADS: usize = 64;

/// Returns for each process the code address of one of its running threads; none if it is not known.
pub fn running_at(processes: &[u32]) -> Vec<Option<u64>> {
    let threads: Vec<_> = processes.iter().map(|pid| running_thread(*pid)).collect();
    let none = vec![None; processes.len()];
    if threads.iter().all(Option::is_none) {
        return none;
    }
    let tracer = thread::Builder::new().name("running-at".into()).spawn(move || addresses(&threads));
    tracer.ok().and_then(|tracer| tracer.join().ok()).unwrap_or(none)
}

/// Returns the first running thread of the process.
fn running_thread(pid: u32) -> Option<u32> {
    let folder = format!("/proc/{pid}/task");
    let threads = fs::read_dir(folder).ok()?.flatten().take(MOST_THREADS);
    let mut running = threads.filter(|thread| is_running(&thread.path()));
    running.find_map(|thread| thread.file_name().to_str()?.parse().ok())
}

/// Stops these threads, and reads the address of each that stops in time.
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

    /// A child process that ends with the test in every case.
    struct Child(std::process::Child);

    impl Drop for Child {
        fn drop(&mut self) {
            // An ended child needs no kill.
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
        // The thread is released before it runs again.
        until(|| process_state(pid).filter(|state| state.letter == "R")).expect("it goes on");
        until(|| process_state(sleeper.0.id()).filter(|state| state.letter == "S")).expect("it sleeps");
        assert_eq!(running_at(&[sleeper.0.id(), 0]), [None, None]);
    }
}
