//! The running jobs of the user on this host: which there are, and what their launchers tell.
//!
//! Owns how launchers are found. What they tell is read by `canele_launch`.

use std::fs;

use canele_launch::{JobReport, QueryError, RankReport, query_job};

use crate::say;

/// The protocols, as the names of counters begin.
pub const PROTOCOLS: [&str; 6] = ["short", "eager", "streamed", "direct", "put", "local"];

/// The jobs of the user whose launchers run on this host, each asked by `ask`; in the order of the launchers' processes.
pub fn running(ask: impl Fn(u32) -> Result<JobReport, QueryError>) -> Vec<JobReport> {
    let sockets = fs::read_to_string("/proc/net/unix").unwrap_or_default();
    let told = launchers(&sockets).into_iter().filter_map(|launcher| match ask(launcher) {
        Ok(report) => Some(report),
        // Of another user, or over.
        Err(QueryError::Refused(_) | QueryError::NoLauncher(_) | QueryError::Impostor { .. }) => None,
        Err(error) => {
            say(&error.to_string());
            None
        }
    });
    told.collect()
}

/// All that run, asked once.
pub fn running_now() -> Vec<JobReport> {
    running(query_job)
}

/// The processes of the launchers whose sockets are listed.
fn launchers(sockets: &str) -> Vec<u32> {
    let name = |line: &str| line.rsplit_once(" @canele-")?.1.trim_end().parse().ok();
    let mut all: Vec<u32> = sockets.lines().filter_map(name).collect();
    all.sort_unstable();
    all.dedup();
    all
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_found_by_their_sockets() {
        let sockets = "Num RefCount Protocol Flags Type St Inode Path\n\
                       0: 02 0 00010000 0001 01 41 @canele-4711\n\
                       0: 03 0 00000000 0001 03 42 @canele-4711\n\
                       0: 02 0 00010000 0001 01 43 @canele-job-17\n\
                       0: 02 0 00010000 0001 01 44 /run/canele-1\n\
                       0: 02 0 00010000 0001 01 45 @canele-12\n";
        assert_eq!(launchers(sockets), [12, 4711]);
    }
}
