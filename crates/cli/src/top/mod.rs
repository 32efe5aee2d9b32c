//! `canele top`: shows repeatedly the activity and traffic of the ranks of running jobs.
//!
//! ```text
//! launchers ─▶ JobReport ─▶ rates (changes since the last report) ─▶ table ─▶ terminal, or printed once
//! ```
//! Owns the interval between looks and the choice of jobs. The jobs' launchers report the activity and the
//! counters of ranks.

mod rates;
mod screen;
mod table;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use canele_launch::query_job;

use crate::{jobs, print, say};
use rates::{JobRates, Rates};
use table::RowOrder;

/// Arguments of `canele top`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct TopArguments {
    /// Process ids of the jobs' launchers (`canele run`, `mpiexec`) [default: all jobs of the user on this
    /// host]
    #[arg(value_name = "JOB")]
    jobs: Vec<u32>,
    /// Time between two updates, in seconds, as 0.2
    #[arg(long, value_name = "S", default_value = "1", value_parser = pause)]
    every: Duration,
    /// Order of a job's ranks
    #[arg(long, value_name = "ORDER", value_enum, default_value_t)]
    sort: RowOrder,
    /// Print the rates between two updates, and end; this is also done if standard output is no terminal
    #[arg(long)]
    once: bool,
    /// Print one JSON object for each update, on a line of its own, until no job is left
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  canele top                      all your jobs on this host
  canele top 4711 --every 0.2     one job, five times a second
  canele top --once > now.txt     rates of one second, as text
  canele top --json | jq .        rates as data, a line per second

Keys: q ends the command; r, w and m sort by rank, by waiting and by bytes; arrows, Page up and Page down scroll.
Waiting is the share of time in which a rank waited in the library; a rank that makes no call of the library shows no
figures. Copied is the share of the received bytes that were copied once, from the memory of one rank into that of the
other. Lanes are shown if a rank has several.";

/// Parses a number of seconds.
fn pause(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text} is no pause: give seconds from 0.05 to 3600");
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    if (0.05..=3600.0).contains(&seconds) { Ok(Duration::from_secs_f64(seconds)) } else { Err(wrong()) }
}

/// Shows the jobs until the user presses a key to end, or the named jobs have ended.
pub fn main(arguments: &TopArguments) -> ExitCode {
    let mut rates = Rates::default();
    let mut look = || look(&arguments.jobs, &mut rates);
    let result = if arguments.json {
        print_lines(arguments, look)
    } else if arguments.once || !std::io::stdout().is_terminal() {
        twice(arguments.every, &mut look).map(|jobs| print(&table::text(&jobs, arguments.sort)))
    } else {
        screen::show(arguments, look)
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            say(&text);
            ExitCode::FAILURE
        }
    }
}

/// Returns the present rates of these jobs, or of all, compared with the last call.
///
/// # Errors
/// Fails if none of the named jobs can be asked.
fn look(named: &[u32], rates: &mut Rates) -> Result<Vec<JobRates>, String> {
    let reports = if named.is_empty() {
        jobs::running()
    } else {
        let told: Vec<_> = named.iter().map(|pid| query_job(*pid)).collect();
        if told.iter().all(Result::is_err)
            && let Some(Err(error)) = told.first()
        {
            return Err(error.to_string());
        }
        told.into_iter().flatten().collect()
    };
    Ok(rates.since_the_last(reports))
}

/// Looks twice, because rates are differences of two looks.
fn twice(
    pause: Duration,
    look: &mut impl FnMut() -> Result<Vec<JobRates>, String>,
) -> Result<Vec<JobRates>, String> {
    look()?;
    thread::sleep(pause);
    look()
}

/// Prints a line for each update, until all jobs have ended.
fn print_lines(
    arguments: &TopArguments,
    mut look: impl FnMut() -> Result<Vec<JobRates>, String>,
) -> Result<(), String> {
    let mut jobs = twice(arguments.every, &mut look)?;
    loop {
        print(&serde_json::json!({ "jobs": jobs }).to_string());
        if arguments.once || jobs.is_empty() {
            return Ok(());
        }
        thread::sleep(arguments.every);
        // An error means that the named jobs have ended.
        match look() {
            Ok(now) => jobs = now,
            Err(_) => return Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_some_seconds() {
        assert_eq!(pause("0.2"), Ok(Duration::from_millis(200)));
        for wrong in ["", "0", "-1", "nan", "1e9", "1 s"] {
            assert!(pause(wrong).unwrap_err().contains("seconds from 0.05"), "{wrong}");
        }
    }
}
