//! Starts the workers of `canele tune`, shows their progress, and ends them together. Measures nothing
//! itself.
//!
//! Workers are plain children and no job. So they measure this machine even in an allocation of a batch
//! system.

use std::io::{BufRead, BufReader, Read};
use std::os::fd::AsRawFd;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use canele_sys::bounded_read::{Bounded, MOST_DATA};
use canele_sys::segment::Segment;
use indicatif::{ProgressBar, ProgressStyle};
use rustix::io::{FdFlags, fcntl_setfd};

use super::plan::MeasurementPlan;
use super::worker::{WorkerNote, WorkerOrder};
use crate::bench::Failure;

/// Interval between checks of the workers.
const LOOK: Duration = Duration::from_millis(20);

/// The running workers; dropping this value kills them.
struct Workers(Vec<Child>);

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in &mut self.0 {
            // The worker may have ended by itself.
            let _ = worker.kill();
            let _ = worker.wait();
        }
    }
}

/// Makes all measurements; returns the figures of each in nanoseconds, one per round.
///
/// # Errors
/// Fails if a worker failed.
pub fn measure(plan: &MeasurementPlan) -> Result<Vec<Vec<f64>>, Failure> {
    let shape = WorkerOrder::shape(plan);
    let segment = Segment::create("canele-limits", shape.block_bytes())?;
    segment.reserve(0, segment.len())?;
    fcntl_setfd(segment.fd(), FdFlags::empty())?;
    let executable = std::env::current_exe()?;
    let mut workers = Workers(Vec::new());
    for number in 0..shape.ranks {
        let order = WorkerOrder { plan: plan.clone(), number, limits_fd: segment.fd().as_raw_fd() };
        let mut command = Command::new(&executable);
        command.arg("tune-worker").arg(serde_json::to_string(&order)?).stdin(Stdio::null());
        command.stdout(if number == 0 { Stdio::piped() } else { Stdio::null() });
        workers
            .0
            .push(command.spawn().map_err(|error| format!("worker {number} cannot be started: {error}"))?);
    }
    let output = workers.0[0].stdout.take().ok_or("worker 0 has no output")?;
    let count = plan.rounds as usize * plan.measurements.len();
    let style = ProgressStyle::with_template("measuring this machine [{bar:40}] {pos}/{len}, {eta} left")?;
    let bar = ProgressBar::new(count as u64).with_style(style.progress_chars("=> "));
    let notes = std::thread::Builder::new().spawn(move || read_notes(output, &bar))?;
    let ended = await_workers(&mut workers.0);
    // Worker 0 has ended by then, and so has its output.
    drop(workers);
    let figures = notes.join().map_err(|_| "the reader of the workers' notes panicked")?;
    ended?;
    figures?.ok_or_else(|| "the workers ended without figures".into())
}

/// Waits until all workers have ended, or one has failed.
fn await_workers(workers: &mut [Child]) -> Result<(), Failure> {
    loop {
        let mut running = false;
        for (number, worker) in workers.iter_mut().enumerate() {
            match worker.try_wait()? {
                Some(status) if !status.success() => {
                    return Err(format!("worker {number} failed: {status}").into());
                }
                Some(_) => {}
                None => running = true,
            }
        }
        if !running {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
}

fn read_notes(output: impl Read, bar: &ProgressBar) -> Result<Option<Vec<Vec<f64>>>, Failure> {
    let mut figures = None;
    for line in BufReader::new(Bounded::new(output, MOST_DATA)).lines() {
        match serde_json::from_str(&line?)? {
            WorkerNote::Made(count) => bar.set_position(count.into()),
            WorkerNote::Figures(all) => figures = Some(all),
        }
    }
    bar.finish_and_clear();
    Ok(figures)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_failure_of_one_worker_ends_all() {
        let start = |words: &[&str]| Command::new(words[0]).args(&words[1..]).spawn().unwrap();
        let mut workers = Workers(vec![start(&["sleep", "1000"]), start(&["false"])]);
        let error = await_workers(&mut workers.0).unwrap_err().to_string();
        assert!(error.starts_with("worker 1 failed: "), "{error}");
        let sleeper = workers.0[0].id();
        drop(workers);
        assert!(!std::path::Path::new(&format!("/proc/{sleeper}")).exists(), "it was killed and waited for");
        let mut workers = Workers(vec![start(&["true"]), start(&["true"])]);
        assert!(await_workers(&mut workers.0).is_ok());
    }

    #[test]
    fn notes_are_read_up_to_the_figures() {
        let text = "{\"Made\":3}\n{\"Figures\":[[1.5],[]]}\n";
        let bar = ProgressBar::hidden();
        assert_eq!(read_notes(text.as_bytes(), &bar).unwrap(), Some(vec![vec![1.5], vec![]]));
        assert_eq!(read_notes("{\"Made\":3}\n".as_bytes(), &bar).unwrap(), None);
        assert!(read_notes("what\n".as_bytes(), &bar).is_err());
    }
}
