//! A rank of a benchmark's job: `canele bench-rank ORDER`, started by the launcher, never by a user.

use super::Failure;
use super::job::{Note, Order};
use super::report::Report;
use super::sample::sample;
use super::workloads;
use canele_sys::limits::Limits;
use canele_sys::segment::Segment;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::fd::RawFd;
use std::process::ExitCode;

/// `canele bench-rank …`
#[derive(Debug, clap::Args)]
pub struct RankArguments {
    /// What to do, as JSON
    order: String,
}

/// Measures as one rank of the job.
pub fn main(arguments: &RankArguments) -> ExitCode {
    match run(&arguments.order) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            crate::say(&failure.to_string());
            ExitCode::FAILURE
        }
    }
}

fn run(order: &str) -> Result<(), Failure> {
    let order: Order = serde_json::from_str(order).map_err(|error| format!("bench-rank: {error}"))?;
    let segment = Segment::map(inherited(order.limits_fd, "segment")?.into())?;
    let mut notes = inherited(order.notes_fd, "pipe")?;
    workloads::with(&order.task, |me, work| {
        let mut limits = Limits::on(&segment, me, order.shape())?;
        let mut note = |note: &Note| -> Result<(), Failure> {
            if me == 0 {
                writeln!(notes, "{}", serde_json::to_string(note)?)?;
            }
            Ok(())
        };
        // A lost progress note is no reason to stop; the report's is.
        let sample = sample(work, &mut limits, &order.task, |done| drop(note(&Note::Rounds(done))))?;
        note(&Note::Report(Report::new(&order.task, &sample, |case| work.protocol(case))))
    })
}

/// A descriptor that the command left open for its ranks, opened anew.
fn inherited(fd: RawFd, what: &str) -> Result<File, Failure> {
    let open = OpenOptions::new().read(what == "segment").write(true).open(format!("/proc/self/fd/{fd}"));
    open.map_err(|error| {
        format!("bench-rank is started by canele bench; its {what} is missing: {error}").into()
    })
}
