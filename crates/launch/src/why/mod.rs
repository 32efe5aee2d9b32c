//! The reasons why a job does not go on: the wait of each rank, and the conclusion.
//!
//! Takes the report of a launcher. Any process of the user can get that report, and a launcher that explains
//! its own job uses the same report. Owns the wording. The conclusion is a pure function (`conclusion`);
//! names and lines of code come from files (`code`).

mod activity;
mod code;
mod conclusion;
mod needs;
mod standstill;
mod words;

use std::collections::BTreeMap;

use canele_control::{UnexpectedMessage, Waits};
use serde::Serialize;

use crate::host_ranks::ProcessState;
use crate::job_report::{JobReport, RankReport};
pub use activity::{Activity, activity};
pub use code::CallSite;
pub(crate) use code::Code;
pub use conclusion::WaitFinding;
use conclusion::conclude;
use needs::RankFacts;
pub use standstill::Standstill;
use words::FlowNames;
pub use words::place;

/// The most ranks whose lines are all printed; of more ranks only those in findings are.
const MOST_RANKS: usize = 128;
/// The most findings that are printed.
const MOST_FINDINGS: usize = 8;

/// The explanation why a job does not go on.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// The launcher's process.
    pub job: u32,
    /// The programs and arguments as the user gave them.
    pub command: String,
    /// The seconds since the start.
    pub seconds: f64,
    /// The conclusion in sentences, the most informative first.
    pub conclusion: Vec<String>,
    /// The findings as data.
    pub findings: Vec<WaitFinding>,
    /// The explanations of the ranks, in order.
    pub ranks: Vec<RankExplanation>,
}

/// The explanation of one rank.
#[derive(Debug, Serialize)]
pub struct RankExplanation {
    /// The number of the rank.
    pub rank: u32,
    /// The host of the rank.
    pub host: String,
    /// The process of the rank on that host, if started.
    pub pid: Option<u32>,
    /// The activity of the rank, in words.
    pub doing: String,
    /// The place in the program where the rank is.
    #[serde(flatten)]
    pub site: CallSite,
    /// The report of the rank; none if the rank has sent none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits: Option<Waits>,
    /// The system's data of its process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<ProcessState>,
    /// The waits of its other threads, in words.
    #[serde(skip)]
    other_threads: Vec<String>,
    /// Unexpected messages, in words.
    #[serde(skip)]
    unexpected: Vec<String>,
}

/// Describes the activity of a rank, as far as possible without reading any file of code.
pub fn doing(rank: &RankReport) -> String {
    FlowNames::of(std::iter::once(rank)).activity(activity(rank), &CallSite::default())
}

/// Explains the state of a job from its report.
pub fn explain(report: &JobReport) -> Explanation {
    let names = FlowNames::of(report.ranks.iter());
    let mut code = Code::default();
    let ranks: Vec<_> = report.ranks.iter().map(|rank| explain_rank(rank, &names, &mut code)).collect();
    let facts: Vec<_> = report.ranks.iter().map(facts_of).collect();
    let findings = conclude(&facts);
    let does: BTreeMap<u32, String> = ranks.iter().map(|rank| (rank.rank, rank.in_short())).collect();
    let does = |rank: u32| does.get(&rank).cloned().unwrap_or_else(|| "is of another job".into());
    let mut conclusion: Vec<_> =
        findings.iter().take(MOST_FINDINGS).map(|finding| names.finding(finding, does)).collect();
    if findings.len() > MOST_FINDINGS {
        conclusion.push(format!("and {} more findings: --json has all", findings.len() - MOST_FINDINGS));
    }
    if findings.is_empty() {
        conclusion.push(nothing_found(&facts).into());
    }
    let JobReport { job, command, seconds, .. } = report;
    Explanation { job: *job, command: command.clone(), seconds: *seconds, conclusion, findings, ranks }
}

/// Returns the text for a job in which no finding explains the waits.
fn nothing_found(facts: &[RankFacts<'_>]) -> &'static str {
    match facts.iter().any(|facts| !facts.waits.is_empty()) {
        true => "no rank is known to wait in vain: ask again to see whether the ranks go on",
        false => "no rank waits in the library",
    }
}

fn facts_of(rank: &RankReport) -> RankFacts<'_> {
    let activity = activity(rank);
    let is_waiting = matches!(activity, Activity::Waits(_));
    RankFacts {
        rank: rank.rank,
        is_gone: matches!(activity, Activity::Finished | Activity::Ended),
        is_finalizing: rank.is_finalizing,
        waits: activity::waits_of(rank).filter(|_| is_waiting).collect(),
        has_more: rank.waits.as_ref().is_some_and(|waits| waits.threads_left_out > 0),
        unexpected: rank.waits.as_ref().map_or(&[], |waits| &waits.unexpected),
    }
}

fn explain_rank(rank: &RankReport, names: &FlowNames, code: &mut Code) -> RankExplanation {
    let activity = activity(rank);
    let site = match activity {
        // The calls in the report are those at the time of its answer.
        Activity::Waits(_) | Activity::Calls if rank.current => code.call_site(&rank.calls),
        Activity::Computes if !rank.current => code.computing_site(&rank.calls),
        _ => CallSite::default(),
    };
    let mut doing = names.activity(activity, &site);
    if matches!(activity, Activity::Waits(_)) && !rank.current {
        doing.push_str(" (as it last told: it does not answer)");
    }
    let unexpected = rank.waits.iter().flat_map(|waits| &waits.unexpected);
    let mut unexpected: Vec<_> =
        unexpected.map(|message: &UnexpectedMessage| names.unexpected(message)).collect();
    if let Some(waits) = rank.waits.as_ref().filter(|waits| waits.unexpected_left_out > 0) {
        unexpected.push(format!("and {} more", waits.unexpected_left_out));
    }
    let is_waiting = matches!(activity, Activity::Waits(_));
    let others = activity::waits_of(rank).skip(1).filter(|_| is_waiting);
    RankExplanation {
        other_threads: others.map(|wait| names.wait(wait, None)).collect(),
        rank: rank.rank,
        host: rank.host.clone(),
        pid: rank.pid,
        doing,
        site,
        waits: rank.waits.clone(),
        process: rank.process.clone(),
        unexpected,
    }
}

impl RankExplanation {
    fn in_short(&self) -> String {
        match place(&self.site) {
            Some(place) => format!("{}, in {place}", self.doing),
            None => self.doing.clone(),
        }
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{:>5}  {}", self.rank, self.in_short())];
        lines.extend(self.other_threads.iter().map(|wait| format!("{:>9}another thread: {wait}", "")));
        lines.extend(self.unexpected.iter().map(|message| format!("{:>9}unexpected: {message}", "")));
        lines
    }
}

impl Explanation {
    /// Returns the explanation as text: the conclusion first.
    pub fn text(&self) -> String {
        let mut lines =
            vec![format!("job {}: {}, running for {:.1} s", self.job, self.command, self.seconds)];
        lines.extend(self.conclusion.iter().map(|sentence| format!("* {sentence}")));
        lines.extend(self.ranks.iter().take(MOST_RANKS).flat_map(RankExplanation::lines));
        if self.ranks.len() > MOST_RANKS {
            let left = self.ranks.len() - MOST_RANKS;
            lines.push(format!("{left} more ranks are left out: `canele why {} --json` has all", self.job));
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use canele_control::{ThreadWait, WaitMessage, WaitOperation};

    use super::*;

    fn waiting(rank: u32, peer: u32) -> RankReport {
        let message = WaitMessage { peer: Some(peer), flow: Some(0), tag: Some(7), ..WaitMessage::default() };
        let operations = vec![WaitOperation::Receive(message)];
        let threads =
            vec![ThreadWait { waited_ns: 2_000_000_000, operations, left_out: 0, ends_otherwise: false }];
        let names = vec![(0, "world".into())];
        RankReport {
            rank,
            state: "initialised".into(),
            current: true,
            waits: Some(Waits { threads, names, calls_of: Some(0), ..Waits::default() }),
            ..RankReport::default()
        }
    }

    fn report(ranks: Vec<RankReport>) -> JobReport {
        let size = ranks.len() as u32;
        JobReport { job: 7, command: "2 x ring".into(), size, seconds: 3.0, ranks, ..JobReport::default() }
    }

    #[test]
    fn the_conclusion_stands_before_what_each_rank_does() {
        let text = explain(&report(vec![waiting(0, 1), waiting(1, 0)])).text();
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "job 7: 2 x ring, running for 3.0 s",
                "* ranks 0 and 1 wait for each other",
                "    0  receive from rank 1, tag 7, world, room for 0 B; for 2.0 s",
                "    1  receive from rank 0, tag 7, world, room for 0 B; for 2.0 s",
            ]
        );
    }

    #[test]
    fn a_rank_that_does_not_answer_is_shown_as_it_last_told() {
        let rank = RankReport { current: false, ..waiting(0, 1) };
        let explained = explain(&report(vec![rank]));
        assert!(explained.ranks[0].doing.ends_with("(as it last told: it does not answer)"));
    }
}
