//! `canele info --job PID`: asks a launcher about its job and prints the answer.

use std::process::ExitCode;

use super::{counters, links};
use crate::{jobs, print, say};
use canele_launch::{JobReport, query_job};

/// The text after the row of a rank that did not answer: it computes, was stopped, or died.
const OLD: &str = "   (counters as it last gave them: it did not come by to write new ones)";

/// Most ranks whose links are printed without an explicit request.
const MOST_RANKS: usize = 16;

/// The information to show beside the ranks.
pub struct Show {
    /// True to show the counters of the ranks.
    pub counters: bool,
    /// True to show counters that are zero everywhere, too.
    pub zeros: bool,
    /// True to show the rails to the peers of the ranks, and the state of the rails.
    pub rails: bool,
    /// The only rank to show.
    pub rank: Option<u32>,
    /// The whole output as JSON.
    pub json: bool,
}

/// Prints the job of the launcher `pid`.
pub fn main(pid: u32, show: &Show) -> ExitCode {
    let mut report = match query_job(pid) {
        Ok(report) => report,
        Err(error) => return fail(&error.to_string()),
    };
    if let Some(rank) = show.rank {
        if rank >= report.size {
            return fail(&format!("--rank {rank}: the job has ranks 0 to {}", report.size.saturating_sub(1)));
        }
        report.ranks.retain(|other| other.rank == rank);
    }
    let text = if show.json { as_json(&mut report, show) } else { as_table(&report, show) };
    print(&text);
    ExitCode::SUCCESS
}

fn fail(text: &str) -> ExitCode {
    say(text);
    ExitCode::FAILURE
}

fn as_json(report: &mut JobReport, show: &Show) -> String {
    for rank in &mut report.ranks {
        if !show.counters && !show.rails {
            rank.counters.clear();
        }
        if !show.rails {
            rank.links = None;
        }
        (rank.waits, rank.process) = (None, None);
        rank.calls.clear();
    }
    serde_json::to_string(report).expect("a report has no unencodable part")
}

fn as_table(report: &JobReport, show: &Show) -> String {
    let mut lines = vec![format!("job {}: {}", report.job, jobs::in_words(report))];
    if show.rails {
        lines.extend(links::rails(&report.rails));
    }
    let first = report.ranks.first().map(|rank| &rank.host);
    let several = report.ranks.iter().any(|rank| Some(&rank.host) != first) || !report.rails.is_empty();
    let longest = report.ranks.iter().map(|rank| rank.host.len()).max().unwrap_or(0).max("host".len());
    let host = |name: &str| if several { format!(" {name:<longest$}") } else { String::new() };
    let counts: Vec<_> = report.ranks.iter().map(links::count).collect();
    let width = counts.iter().map(String::len).max().unwrap_or(0).max("links".len());
    lines.push(format!(
        "{:>5}{} {:>8} {:<12} {:<width$} doing",
        "rank",
        host("host"),
        "process",
        "state",
        "links"
    ));
    for (number, (rank, count)) in report.ranks.iter().zip(&counts).enumerate() {
        let pid = rank.pid.map_or("-".into(), |pid| pid.to_string());
        let doing = if rank.doing.is_empty() { "-" } else { &rank.doing };
        let old = if show.counters && !rank.current && !rank.counters.is_empty() { OLD } else { "" };
        let host = host(&rank.host);
        lines
            .push(format!("{:>5}{host} {pid:>8} {:<12} {count:<width$} {doing}{old}", rank.rank, rank.state));
        if show.rails && number < MOST_RANKS {
            lines.extend(links::of_rank(report, rank, show.rank.is_some()));
            lines.extend(links::protocols(rank));
        }
    }
    if show.counters {
        lines.push(String::new());
        lines.extend(counters::table(&report.ranks, show.zeros));
    }
    if show.rails && report.ranks.len() > MOST_RANKS {
        let left_out = report.ranks.len() - MOST_RANKS;
        lines.push(format!(
            "the links of {left_out} more ranks are left out: --rank R shows those of one, --json of all"
        ));
    }
    lines.join("\n")
}
