//! The running jobs of the user on this host: which there are, and what their launchers tell.
//!
//! Owns how they are said in words. Launchers are found and asked by `canele_launch`.

use canele_launch::{JobReport, RankReport, query_jobs};

use crate::say;

/// The protocols, as the names of counters begin.
pub const PROTOCOLS: [&str; 6] = ["short", "eager", "streamed", "direct", "put", "local"];

/// The jobs of the user whose launchers run on this host, in the order of the launchers' processes. Says why others do not answer.
pub fn running() -> Vec<JobReport> {
    let found = query_jobs();
    found.errors.iter().for_each(|error| say(&error.to_string()));
    found.reports
}

/// `./laplace 2000, 4 ranks, running for 12.3 s`.
pub fn in_words(report: &JobReport) -> String {
    let plural = if report.size == 1 { "" } else { "s" };
    format!("{}, {} rank{plural}, running for {:.1} s", report.command, report.size, report.seconds)
}

/// A counter of a rank; 0 before it counts.
pub fn counter(rank: &RankReport, name: &str) -> u64 {
    rank.counters.get(name).and_then(serde_json::Value::as_u64).unwrap_or(0)
}
