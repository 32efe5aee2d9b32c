//! `canele bench`: the performance of Canelé here, beside the limits of this machine.
//!
//! Owns the measuring: arguments, rounds, statistics, table, JSON, plot. It never tunes the measured code: a
//! workload uses the public API like any program. The limits are bare loops on shared memory or, between
//! hosts, on plain sockets ([`bare`]). They are measured in the same run, round by round.
//!
//! ```text
//! canele bench X ─▶ job (one or several) of this executable: canele bench-rank TASK
//!                     all ranks:  warm up, then round by round: limit, ours, limit, ours …
//!                     rank 0:     progress and rows ──its output──▶ canele bench X ─▶ table | JSON, plot
//! ```

mod arguments;
mod bare;
mod bars;
mod case;
mod compared;
mod compared_findings;
mod curves;
mod job;
mod launch;
pub mod plot;
mod rank;
mod report;
mod sample;
pub mod statistics;
mod table;
mod urgent;
mod workloads;

pub use arguments::{Bench, BenchArguments, parse_bytes, parse_size};
pub use case::{BATCHES, Buffers, PlannedCall, Task};
pub use job::{run_all, run_each};
pub use rank::{RankArguments, inherited_segment, main as rank_main};
pub use report::{Line, Report};
pub use table::{axis_time, time};

use canele_sys::printable;
use std::io::Write;
use std::process::ExitCode;

/// An error that ends a measurement; the user reads its text.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Runs one benchmark. Returns 2 for wrong usage, 1 for a failure of the run, else 0.
pub fn main(arguments: &BenchArguments) -> ExitCode {
    let jobs = match arguments.tasks() {
        Ok(jobs) => jobs,
        Err(wrong) => {
            return crate::wrong_usage(&wrong);
        }
    };
    match job::run_all(&jobs, &arguments.place).and_then(|report| publish(arguments, &report)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            crate::say(&format!("bench {}: {failure}", arguments.bench));
            ExitCode::FAILURE
        }
    }
}

fn publish(arguments: &BenchArguments, report: &Report) -> Result<(), Failure> {
    let text = if arguments.json { report.json() } else { table::table(report) };
    std::io::stdout().lock().write_all(printable::lines(&text).as_bytes())?;
    if let Some(path) = &arguments.plot {
        let write = |error: Failure| format!("cannot write the plot {}: {error}", path.display());
        plot::plot(report).and_then(|svg| Ok(std::fs::write(path, svg)?)).map_err(write)?;
    }
    Ok(())
}
