//! A rank of a benchmark's job: `canele bench-rank ORDER`, started by the launcher, never by a user.

use super::Failure;
use super::bare::{Bare, BareMemory, Sockets};
use super::job::{Note, Order};
use super::report::Report;
use super::sample::sample;
use super::workloads;
use canele_mem::limits::MachineLimits;
use canele_sys::segment::Segment;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::fd::RawFd;
use std::process::ExitCode;

/// `canele bench-rank …`
#[derive(Debug, clap::Args)]
pub struct RankArguments {
    /// Order for the rank, as JSON
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
    let segment = order.limits_fd.map(inherited_segment).transpose()?;
    workloads::with(&order.task, |job, work| {
        let mut bare: Box<dyn Bare> = match &segment {
            Some(segment) => Box::new(BareMemory(MachineLimits::on(segment, job.rank().0, order.shape())?)),
            None => Box::new(Sockets::open(job)?),
        };
        let note = |note: &Note| -> Result<(), Failure> {
            if job.rank().0 == 0 {
                writeln!(std::io::stdout(), "{}", serde_json::to_string(note)?)?;
            }
            Ok(())
        };
        // A lost progress note is no reason to stop; a lost report is.
        let choose = |strategy: &str| Ok(job.set_strategy(strategy)?);
        let sample = sample(work, &mut *bare, &order.task, choose, |done| drop(note(&Note::Rounds(done))))?;
        let mut report = Report::new(&order.task, &sample, |case| work.protocol(case));
        report.set_rails(&bare.rails());
        note(&Note::Report(report))
    })
}

/// Opens again the segment that the command left open for its ranks.
///
/// # Errors
/// Fails if there is no such segment, because a user has started this process.
pub fn inherited_segment(fd: RawFd) -> Result<Segment, Failure> {
    let open = OpenOptions::new().read(true).write(true).open(format!("/proc/self/fd/{fd}"));
    let file = open.map_err(|error| {
        format!(
            "only `canele bench` and `canele tune` start this; the segment of the limits is missing: {error}"
        )
    })?;
    Ok(Segment::map(file.into())?)
}
