//! `canele why [JOB]`: prints the wait of each rank of a running job, and the conclusion from all waits.
//!
//! Owns the choice of the job if none is named, and the output. The launcher is asked for the waits, and
//! `canele_launch::why` draws the conclusion.

use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use canele_launch::{JobReport, RankReport, query_job, why};

use crate::{jobs, print, say};

/// The number of times that a launcher is asked while ranks do not answer.
const TRIES: u32 = 4;
/// The time for which a launcher is asked again.
const MOST_TIME: Duration = Duration::from_secs(3);
/// The pause between two requests.
const BETWEEN_TRIES: Duration = Duration::from_millis(200);

/// Arguments of `canele why`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct WhyArguments {
    /// Process id of the job's launcher (`canele run`, `mpiexec`) [default: the only job of the user on this
    /// host]
    #[arg(value_name = "JOB")]
    job: Option<u32>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  canele why                  the only running job: the conclusion, then what each rank does
  canele why 4711             the job whose launcher is process 4711
  canele why --json           all details, for other programs

SIGQUIT (Ctrl-\\) to the launcher prints this text, too; so does the time limit (`canele run --timeout`) before it ends the job.";

/// Prints why the job does not go on.
pub fn main(arguments: &WhyArguments) -> ExitCode {
    let report = match arguments.job {
        Some(pid) => query_job(pid).map_err(|error| error.to_string()),
        None => only_job(),
    };
    let report = report.map(complete);
    match report {
        Ok(report) => {
            let explanation = why::explain(&report);
            let json = || serde_json::to_string(&explanation).expect("it has no unencodable part");
            print(&if arguments.json { json() } else { explanation.text() });
            ExitCode::SUCCESS
        }
        Err(text) => {
            say(&text);
            ExitCode::FAILURE
        }
    }
}

/// Asks a launcher again if ranks did not report in time: on a busy machine they may need longer.
fn complete(mut report: JobReport) -> JobReport {
    let until = Instant::now() + MOST_TIME;
    for _ in 1..TRIES {
        let is_known = |rank: &RankReport| rank.current || rank.state != "initialised";
        if report.ranks.iter().all(is_known) || Instant::now() >= until {
            break;
        }
        thread::sleep(BETWEEN_TRIES);
        // The job may have ended meanwhile.
        let Ok(next) = query_job(report.job) else { break };
        report = next;
    }
    report
}

/// Returns the job of the user on this host, if there is exactly one.
fn only_job() -> Result<JobReport, String> {
    let mut found = jobs::running();
    if found.len() > 1 {
        let list = found.iter().map(|report| format!("\n  canele why {}   {}", report.job, report.command));
        return Err(format!("there are {} running jobs; name one:{}", found.len(), list.collect::<String>()));
    }
    found.pop().ok_or_else(|| "no job of yours runs on this host: ask where its launcher runs".into())
}
