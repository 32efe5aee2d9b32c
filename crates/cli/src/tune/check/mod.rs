//! `canele tune --check`: measures each candidate beside its estimate.
//!
//! Owns the list of jobs and the conversion of their reports into rows. The jobs are those of `canele bench`,
//! in which settings select the protocol or the algorithm. The estimates are those by which ranks choose.
//!
//! ```text
//! profile ─▶ candidates with estimates ─▶ one job for each setting ─▶ rows ─▶ table | JSON
//! ```

mod collectives;
mod messages;
mod table;

use std::io::Write;

use canele_profile::Profile;
use canele_sys::{printable, topology};

use crate::bench::{Failure, Report, Task, run_each};
use crate::run::HostOptions;
use crate::say;
use table::CheckedRow;

/// Time limit of the job of one setting, in seconds.
const MOST_SECONDS: u64 = 120;
/// Most ranks of a checked job.
const MOST_RANKS: u32 = 1024;
/// Most bytes of a block of a collective: each rank has one for each other rank.
const MOST_BLOCK: usize = 4 << 20;

/// The operations whose estimates are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum CheckedPart {
    /// Messages and collectives
    All,
    /// Protocols of messages between two ranks
    Messages,
    /// Algorithms of collectives
    Collectives,
}

/// The options of `canele tune --check`.
#[derive(Debug, clap::Args)]
pub struct CheckOptions {
    /// Measure messages and collectives, or one of both, with each protocol and algorithm, beside their
    /// estimates; write no profile
    #[arg(long, value_enum, value_name = "PART", num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub check: Option<CheckedPart>,
    /// With --check: number of ranks of collectives [default: one for each processor]
    #[arg(long, value_name = "N")]
    ranks: Option<u32>,
    /// With --check: sizes in bytes, with K or M for 1024 and 1024², as 8,64K
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = crate::bench::parse_bytes)]
    bytes: Vec<usize>,
    /// With --check: measure only the protocol or algorithm that a job would choose
    #[arg(long)]
    chosen: bool,
    /// With --check: print one JSON object instead of the table
    #[arg(long)]
    json: bool,
}

impl CheckOptions {
    /// Refuses contradictory options.
    ///
    /// # Errors
    /// Returns the text for the user.
    pub fn refuse_wrong(&self, has_output: bool, is_elsewhere: bool) -> Result<(), String> {
        let Some(part) = self.check else {
            let given = [
                (self.ranks.is_some(), "--ranks"),
                (!self.bytes.is_empty(), "--bytes"),
                (self.chosen, "--chosen"),
                (self.json, "--json"),
            ];
            return match given.into_iter().find(|(is_given, _)| *is_given) {
                Some((_, name)) => Err(format!("tune takes {name} with --check only")),
                None => Ok(()),
            };
        };
        if has_output {
            return Err("tune --check writes no profile: it takes no --output".into());
        }
        if is_elsewhere {
            return Err("tune --check measures this host: it takes no hosts".into());
        }
        if part == CheckedPart::Messages && self.ranks.is_some() {
            return Err("tune --check=messages measures two ranks: it takes no --ranks".into());
        }
        if self.ranks.is_some_and(|ranks| !(2..=MOST_RANKS).contains(&ranks)) {
            return Err(format!("tune --check: --ranks must be between 2 and {MOST_RANKS}"));
        }
        if part != CheckedPart::Messages {
            if self.bytes.iter().any(|bytes| *bytes == 0 || bytes % 8 != 0) {
                return Err(
                    "tune --check: --bytes of collectives must be multiples of 8, the size of a number"
                        .into(),
                );
            }
            if self.bytes.iter().any(|bytes| *bytes > MOST_BLOCK) {
                return Err(format!(
                    "tune --check: --bytes of collectives are at most {} MB",
                    MOST_BLOCK >> 20
                ));
            }
        }
        Ok(())
    }

    fn sizes(&self, usual: &[usize]) -> Vec<usize> {
        let mut sizes = if self.bytes.is_empty() { usual.to_vec() } else { self.bytes.clone() };
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }
}

/// The amount of measuring.
struct CheckEffort<'a> {
    is_quick: bool,
    chosen: bool,
    profile: &'a Profile,
}

impl CheckEffort<'_> {
    fn rounds(&self) -> u32 {
        if self.is_quick { 3 } else { 7 }
    }
}

/// The candidates that one setting selects, and the job that measures them.
struct SettingCheck {
    task: Task,
    /// The rows in any order; `measured_ns` is not known yet.
    rows: Vec<CheckedRow>,
}

/// Measures and prints.
///
/// # Errors
/// Fails if the profile or the settings are invalid, or no job gave a figure.
pub fn check(options: &CheckOptions, is_quick: bool, place: &HostOptions) -> Result<(), Failure> {
    let part = options.check.unwrap_or(CheckedPart::All);
    let profile = canele_profile::load()?.profile;
    let effort = CheckEffort { is_quick, chosen: options.chosen, profile: &profile };
    let mut checks = Vec::new();
    if part != CheckedPart::Collectives {
        let usual: &[usize] = if is_quick { &messages::QUICK_BYTES } else { &messages::BYTES };
        checks.extend(messages::plan(&options.sizes(usual), &effort)?);
    }
    if part != CheckedPart::Messages {
        let usual: &[usize] = if is_quick { &collectives::QUICK_BYTES } else { &collectives::BYTES };
        let ranks = options.ranks.unwrap_or_else(topology::usable);
        checks.extend(collectives::plan(&options.sizes(usual), ranks, &effort));
    }
    let rows = measure(checks, place)?;
    let text = if options.json { table::json(&rows)? } else { table::table(&rows) };
    Ok(std::io::stdout().lock().write_all(printable::lines(&text).as_bytes())?)
}

/// Runs the jobs. A job that fails or takes too long is reported, and its rows are left out.
fn measure(checks: Vec<SettingCheck>, place: &HostOptions) -> Result<Vec<CheckedRow>, Failure> {
    let (tasks, mut planned): (Vec<Task>, Vec<_>) =
        checks.into_iter().map(|check| (check.task, check.rows)).unzip();
    let mut number = 0;
    run_each(&tasks, place, |task, report| {
        let rows = std::mem::take(&mut planned[number]);
        planned[number] = match report {
            Ok(report) => measured(rows, &report),
            Err(failure) => {
                let settings: Vec<String> =
                    task.settings.iter().map(|(variable, value)| format!("{variable}={value}")).collect();
                say(&format!("tune --check: nothing was measured with {}: {failure}", settings.join(" ")));
                Vec::new()
            }
        };
        number += 1;
        Ok(())
    })?;
    let mut rows: Vec<CheckedRow> = planned.into_iter().flatten().collect();
    if rows.is_empty() {
        return Err("no job gave a figure".into());
    }
    table::sort(&mut rows);
    Ok(rows)
}

/// Returns the rows of a setting with the measurements of its job.
fn measured(rows: Vec<CheckedRow>, report: &Report) -> Vec<CheckedRow> {
    let of = |row: CheckedRow| {
        let is_same = |line: &&crate::bench::Line| {
            line.row.bytes.unwrap_or(0) == row.bytes
                && line.row.operation.as_deref().unwrap_or(messages::OPERATION) == row.operation
        };
        let line = report.lines.iter().find(is_same)?;
        // If other programs disturb the rounds, the best round is the most reliable one.
        let is_disturbed = line.spread > table::WIDE;
        let measured_ns = if is_disturbed { line.row.min_ns } else { line.row.median_ns }?;
        Some(CheckedRow { measured_ns, is_disturbed, ..row })
    };
    rows.into_iter().filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct CommandLine {
        #[command(flatten)]
        options: CheckOptions,
    }

    fn refused(words: &str, has_output: bool, is_elsewhere: bool) -> Result<(), String> {
        let line = CommandLine::try_parse_from(["tune"].into_iter().chain(words.split_whitespace()));
        line.map_err(|error| error.to_string())?.options.refuse_wrong(has_output, is_elsewhere)
    }

    #[test]
    fn wrong_options_are_answered_with_what_is_wrong() {
        for (words, has_output, is_elsewhere, says) in [
            ("--ranks 2", false, false, "--ranks with --check only"),
            ("--bytes 8", false, false, "--bytes with --check only"),
            ("--chosen", false, false, "--chosen with --check only"),
            ("--json", false, false, "--json with --check only"),
            ("--check", true, false, "takes no --output"),
            ("--check", false, true, "takes no hosts"),
            ("--check --ranks 1", false, false, "between 2 and 1024"),
            ("--check=messages --ranks 2", false, false, "takes no --ranks"),
            ("--check=collectives --bytes 12", false, false, "multiples of 8"),
            ("--check --bytes 0", false, false, "multiples of 8"),
            ("--check --bytes 8M", false, false, "at most 4 MB"),
            ("--check --bytes x", false, false, "a number of bytes"),
            ("--check=rails", false, false, "messages"),
        ] {
            let answer = refused(words, has_output, is_elsewhere).expect_err(words);
            assert!(answer.contains(says), "{words}: {answer}");
        }
    }

    #[test]
    fn right_options_pass() {
        assert_eq!(refused("", true, true), Ok(()));
        assert_eq!(refused("--check --ranks 8 --bytes 8,1K --json --chosen", false, false), Ok(()));
        assert_eq!(refused("--check=messages --bytes 12", false, false), Ok(()));
    }

    #[test]
    fn sizes_are_sorted_and_each_is_measured_once() {
        let line = CommandLine::try_parse_from(["tune", "--check", "--bytes", "1K,8,1024"]).unwrap();
        assert_eq!(line.options.sizes(&[1]), [8, 1024]);
        let line = CommandLine::try_parse_from(["tune", "--check"]).unwrap();
        assert_eq!(line.options.sizes(&[1]), [1]);
    }
}
