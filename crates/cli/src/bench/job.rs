//! The command's side of a benchmark: it starts the job, shows its progress and reads its report.
//!
//! Owns the pipe that is the job's standard output, on which rank 0 reports. Owns also the segment for the
//! limits of shared memory, which the ranks inherit as a descriptor. It measures nothing itself.

use super::case::{COPY_LIMIT_BYTES, Task};
use super::launch::EndedBySignal;
use super::report::Report;
use super::{Failure, launch};
use crate::run::HostOptions;
use canele_mem::limits::MeasuredSizes;
use canele_sys::bounded_read::{Bounded, MOST_DATA};
use canele_sys::segment::Segment;
use indicatif::{ProgressBar, ProgressStyle};
use rustix::io::{FdFlags, fcntl_setfd};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, PipeReader};
use std::os::fd::{AsRawFd, RawFd};

/// The order for a rank on its command line, as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    pub task: Task,
    /// Largest message for which the limits are measured, in bytes.
    pub largest_bytes: usize,
    /// The inherited segment of the limits; none between hosts.
    pub limits_fd: Option<RawFd>,
}

/// A note of rank 0 on its standard output, one JSON value per line.
#[derive(Debug, Serialize, Deserialize)]
pub enum Note {
    /// The number of completed rounds.
    Rounds(u32),
    /// The report at the end.
    Report(Report),
}

impl Order {
    /// Returns the sizes of the block that the ranks share to measure the limits.
    pub fn shape(&self) -> MeasuredSizes {
        MeasuredSizes { ranks: self.task.ranks, largest_bytes: self.largest_bytes }
    }
}

/// Runs the jobs one after the other and joins their reports.
pub fn run_all(tasks: &[Task], place: &HostOptions) -> Result<Report, Failure> {
    let mut all: Option<Report> = None;
    run_each(tasks, place, |_, report| {
        let report = report?;
        match &mut all {
            Some(all) => all.join(report),
            None => all = Some(report),
        }
        Ok(())
    })?;
    all.ok_or_else(|| "no job to run".into())
}

/// Runs the jobs one after the other and passes each result to `take`, until `take` fails or a signal ends a
/// job.
pub fn run_each(
    tasks: &[Task],
    place: &HostOptions,
    mut take: impl FnMut(&Task, Result<Report, Failure>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let rounds = tasks.iter().map(|task| u64::from(task.rounds)).sum();
    let style = ProgressStyle::with_template("{msg:24} [{bar:40}] {pos}/{len} rounds, {eta} left")?;
    let bar = ProgressBar::new(rounds).with_style(style.progress_chars("=> "));
    for task in tasks {
        bar.set_message(format!("{} ({} ranks, {})", task.bench, task.ranks, task.wait.value()));
        let before = bar.position();
        let report = run(task, place, &bar);
        match report {
            Err(failure) if failure.is::<EndedBySignal>() => return Err(failure),
            report => take(task, report)?,
        }
        bar.set_position(before + u64::from(task.rounds));
    }
    bar.finish_and_clear();
    Ok(())
}

fn run(task: &Task, place: &HostOptions, bar: &ProgressBar) -> Result<Report, Failure> {
    // A task without requested sizes measures the limits up to the largest size of any workload.
    let largest_bytes = task.bytes.iter().copied().max().unwrap_or(COPY_LIMIT_BYTES);
    let (reader, writer) = std::io::pipe()?;
    let shape = MeasuredSizes { ranks: task.ranks, largest_bytes };
    let segment = (!task.between_hosts).then(|| inherited_segment(shape)).transpose()?;
    let limits_fd = segment.as_ref().map(|segment| segment.fd().as_raw_fd());
    let order = Order { task: task.clone(), largest_bytes, limits_fd };
    let arguments = [OsString::from("bench-rank"), serde_json::to_string(&order)?.into()];
    let bar = bar.clone();
    let notes = std::thread::Builder::new().spawn(move || read_notes(reader, &bar))?;
    // The launcher has the only writer: the reader sees the end even if no rank reported.
    let ended = launch::launch(task, place, &arguments, writer.into());
    let report = notes.join().map_err(|_| "the reader of the ranks' notes panicked")??;
    ended?;
    report.ok_or_else(|| "the job ended without a report".into())
}

fn inherited_segment(shape: MeasuredSizes) -> Result<Segment, Failure> {
    let segment = Segment::create("canele-limits", shape.block_bytes())?;
    segment.reserve(0, segment.len())?;
    fcntl_setfd(segment.fd(), FdFlags::empty())?;
    Ok(segment)
}

fn read_notes(reader: PipeReader, bar: &ProgressBar) -> Result<Option<Report>, Failure> {
    let before = bar.position();
    for line in BufReader::new(Bounded::new(reader, MOST_DATA)).lines() {
        match serde_json::from_str(&line?)? {
            Note::Rounds(done) => bar.set_position(before + u64::from(done)),
            Note::Report(report) => return Ok(Some(report)),
        }
    }
    Ok(None)
}
