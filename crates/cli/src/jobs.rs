//! The running jobs of the user on this host, as their launchers report them.
//!
//! Owns their description in words. `canele_launch` finds and asks launchers.

use canele_launch::{JobReport, RankReport, query_jobs};

use crate::say;

/// The protocols, by the beginnings of the counters' names.
pub const PROTOCOLS: [&str; 6] = ["short", "eager", "streamed", "direct", "put", "local"];

/// Returns the jobs of the user whose launchers run on this host, in the order of the launchers' processes.
/// Prints the errors about other jobs.
pub fn running() -> Vec<JobReport> {
    let found = query_jobs();
    found.errors.iter().for_each(|error| say(&error.to_string()));
    found.reports
}

/// Returns a text like `./laplace 2000, 4 ranks, running for 12.3 s`.
pub fn in_words(report: &JobReport) -> String {
    let plural = if report.size == 1 { "" } else { "s" };
    format!("{}, {} rank{plural}, running for {:.1} s", report.command, report.size, report.seconds)
}

/// Returns a counter of a rank; 0 before it counts.
pub fn counter(rank: &RankReport, name: &str) -> u64 {
    rank.counters.get(name).and_then(serde_json::Value::as_u64).unwrap_or(0)
}
