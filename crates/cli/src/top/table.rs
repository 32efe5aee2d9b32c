//! The activity of jobs, as lines of text.

use std::cmp::Reverse;
use std::fmt::Display;

use canele_launch::amount;

use super::rates::{JobRates, Moves, RankRates};

/// The order of a job's ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum RowOrder {
    /// By their numbers
    #[default]
    Rank,
    /// Ranks that wait most first
    Waiting,
    /// Ranks that send and receive most bytes first
    Moved,
}

/// A printed line, and the state of its rank.
#[derive(Debug)]
pub struct TopRow {
    /// The printed text.
    pub text: String,
    /// The state of its rank; lines of jobs have none.
    pub state: Option<&'static str>,
}

/// Returns all lines of these jobs.
pub fn rows(jobs: &[JobRates], order: RowOrder) -> Vec<TopRow> {
    if jobs.is_empty() {
        let text = "no job of yours runs on this host: look where its launcher runs".into();
        return vec![TopRow { text, state: None }];
    }
    let mut rows = Vec::new();
    for job in jobs {
        if !rows.is_empty() {
            rows.push(TopRow { text: String::new(), state: None });
        }
        rows.extend(of_job(job, order));
    }
    rows
}

/// Returns the lines as one text to print.
pub fn text(jobs: &[JobRates], order: RowOrder) -> String {
    rows(jobs, order).into_iter().map(|row| row.text).collect::<Vec<_>>().join("\n")
}

fn of_job(job: &JobRates, order: RowOrder) -> Vec<TopRow> {
    let host = job.ranks.iter().map(|rank| rank.host.len()).max().unwrap_or(0).max("host".len());
    let rails: String = (1..=job.rails).map(|rail| format!(" {:>11}", format!("tcp {rail}"))).collect();
    // Columns that say the same of every rank are left out.
    let has_lanes = job.ranks.iter().any(|rank| rank.lanes > 1);
    let lanes = |text: &dyn Display| if has_lanes { format!(" {text:>5}") } else { String::new() };
    let head = format!(
        "{:>5} {:<host$} {:>8} {:<8}{} {:>7} {:>10} {:>11} {:>11} {:>7}{rails}  doing",
        "rank",
        "host",
        "process",
        "state",
        lanes(&"lanes"),
        "waiting",
        "messages",
        "sent",
        "received",
        "copied"
    );
    let mut ranks: Vec<&RankRates> = job.ranks.iter().collect();
    let moves = |rank: &RankRates| rank.moves.clone().unwrap_or_default();
    match order {
        RowOrder::Rank => {}
        RowOrder::Waiting => ranks.sort_by_key(|rank| Reverse((moves(rank).waiting * 1e6) as u64)),
        RowOrder::Moved => ranks.sort_by_key(|rank| {
            let moves = moves(rank);
            Reverse((moves.sent_bytes_per_s + moves.received_bytes_per_s) as u64)
        }),
    }
    let row = |rank: &RankRates| {
        let pid = rank.pid.map_or("-".into(), |pid| pid.to_string());
        let moves = figures(rank.moves.as_ref(), job.rails);
        let of_rank = lanes(&rank.lanes);
        let RankRates { rank, host: name, state, doing, .. } = rank;
        let text = format!("{rank:>5} {name:<host$} {pid:>8} {state:<8}{of_rank} {moves}  {doing}");
        TopRow { text, state: Some(state) }
    };
    let mut rows = vec![TopRow { text: title(job), state: None }, TopRow { text: head, state: None }];
    rows.extend(ranks.into_iter().map(row));
    rows
}

/// Returns a text like `job 4711: ./laplace 2000, running for 12.3 s: 3 compute, 1 waits; 1.20 M messages and
/// 3.40 GB per second`.
fn title(job: &JobRates) -> String {
    let states: Vec<_> = job.states.iter().map(|(state, count)| format!("{count} {state}")).collect();
    let moves = job.ranks.iter().filter_map(|rank| rank.moves.as_ref());
    let (messages, bytes) = moves.fold((0.0, 0.0), |(messages, bytes), moves| {
        (messages + moves.messages_per_s, bytes + moves.sent_bytes_per_s)
    });
    let costs = if job.is_profile_measured { "; by a measured profile" } else { "" };
    format!(
        "job {}: {}, running for {:.1} s: {}; {} messages and {} per second{costs}",
        job.job,
        job.command,
        job.seconds,
        states.join(", "),
        number(messages),
        amount(bytes as u64)
    )
}

fn figures(moves: Option<&Moves>, rails: usize) -> String {
    let [waiting, messages, sent, received, copied] = match moves {
        None => ["-"; 5].map(String::from),
        Some(moves) => [
            format!("{:.0} %", moves.waiting * 100.0),
            format!("{}/s", number(moves.messages_per_s)),
            speed(moves.sent_bytes_per_s),
            speed(moves.received_bytes_per_s),
            copied(moves),
        ],
    };
    let rail = |rail: usize| {
        moves
            .and_then(|moves| moves.rails_bytes_per_s.get(rail))
            .map_or("-".into(), |bytes_per_s| speed(*bytes_per_s))
    };
    let rails: String = (0..rails).map(|number| format!(" {:>11}", rail(number))).collect();
    format!("{waiting:>7} {messages:>10} {sent:>11} {received:>11} {copied:>7}{rails}")
}

/// Returns the part of the received bytes that one copy moved, without a buffer between the two ranks.
fn copied(moves: &Moves) -> String {
    match moves.received_bytes_per_s {
        ..1.0 => "-".into(),
        all => format!("{:.0} %", 100.0 * moves.copied_bytes_per_s / all),
    }
}

fn speed(bytes_per_s: f64) -> String {
    format!("{}/s", amount(bytes_per_s as u64))
}

/// Returns three or four digits with their unit.
fn number(count: f64) -> String {
    match count {
        ..1e4 => format!("{count:.0}"),
        ..1e6 => format!("{:.0} k", count / 1e3),
        _ => format!("{:.2} M", count / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(rank: u32, waiting: f64, sent: f64) -> RankRates {
        let moves = Moves { waiting, sent_bytes_per_s: sent, messages_per_s: 2e6, ..Moves::default() };
        RankRates {
            rank,
            host: "h0".into(),
            pid: Some(70 + rank),
            state: "waits",
            doing: "receive from rank 1".into(),
            lanes: 1,
            moves: (rank < 2).then_some(moves),
        }
    }

    fn job() -> JobRates {
        JobRates {
            job: 7,
            command: "ring".into(),
            seconds: 3.0,
            states: [("waits", 3)].into(),
            rails: 0,
            is_profile_measured: false,
            ranks: vec![rank(0, 0.1, 5e6), rank(1, 0.9, 1e3), rank(2, 0.0, 0.0)],
        }
    }

    #[test]
    fn a_job_has_a_title_and_a_line_for_each_rank() {
        let text = text(&[job()], RowOrder::Rank);
        let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            text.lines().map(words).collect::<Vec<_>>(),
            [
                "job 7: ring, running for 3.0 s: 3 waits; 4.00 M messages and 5.0 MB per second",
                "rank host process state waiting messages sent received copied doing",
                "0 h0 70 waits 10 % 2.00 M/s 5.0 MB/s 0 B/s - receive from rank 1",
                "1 h0 71 waits 90 % 2.00 M/s 1000 B/s 0 B/s - receive from rank 1",
                "2 h0 72 waits - - - - - receive from rank 1",
            ]
        );
    }

    #[test]
    fn lanes_copies_and_a_measured_profile_are_shown_where_there_are_some() {
        let mut job = job();
        job.is_profile_measured = true;
        job.ranks[0].lanes = 4;
        let moves = job.ranks[0].moves.as_mut().unwrap();
        (moves.received_bytes_per_s, moves.copied_bytes_per_s) = (2e6, 1.5e6);
        let text = text(&[job], RowOrder::Rank);
        let words = |line: usize| text.lines().nth(line).unwrap().split_whitespace().collect::<Vec<_>>();
        assert!(text.lines().next().unwrap().ends_with("per second; by a measured profile"), "{text}");
        assert_eq!(words(1)[3..5], ["state", "lanes"]);
        assert_eq!(words(2)[3..5], ["waits", "4"]);
        assert_eq!(words(2)[13..15], ["75", "%"], "{text}");
        assert_eq!(words(3)[3..5], ["waits", "1"]);
    }

    #[test]
    fn those_that_wait_or_move_most_come_first() {
        let first = |order| rows(&[job()], order)[2].text.trim_start().chars().next();
        assert_eq!(
            [RowOrder::Rank, RowOrder::Waiting, RowOrder::Moved].map(first),
            [Some('0'), Some('1'), Some('0')]
        );
    }

    #[test]
    fn without_a_job_it_says_so() {
        assert!(text(&[], RowOrder::Rank).starts_with("no job of yours runs on this host"));
    }
}
