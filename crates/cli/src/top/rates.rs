//! The rates of jobs per second: the difference of two reports.

use std::collections::{BTreeMap, HashMap};

use canele_launch::why::{Activity, activity};
use canele_launch::{JobReport, RankReport};
use serde::Serialize;

use crate::jobs::{PROTOCOLS, counter};

/// The present activity of a job.
#[derive(Debug, Serialize)]
pub struct JobRates {
    /// The launcher's process.
    pub job: u32,
    /// Programs and arguments as given.
    pub command: String,
    /// Seconds since the start.
    pub seconds: f64,
    /// Number of ranks in each state.
    pub states: BTreeMap<&'static str, u32>,
    /// Number of its rails between hosts.
    pub rails: usize,
    /// True if its ranks choose protocols by measured costs.
    pub is_profile_measured: bool,
    /// One entry per rank, in order.
    pub ranks: Vec<RankRates>,
}

/// The present activity of a rank.
#[derive(Debug, Serialize)]
pub struct RankRates {
    /// The number of the rank.
    pub rank: u32,
    /// The host of the rank.
    pub host: String,
    /// The process of the rank on that host, if started.
    pub pid: Option<u32>,
    /// The activity of the rank, in one word.
    pub state: &'static str,
    /// The activity of the rank, in more words.
    pub doing: String,
    /// The number of the rank's lanes in use.
    pub lanes: u32,
    /// The traffic of the rank; none if it did not report, or there is no earlier report.
    pub moves: Option<Moves>,
}

/// The traffic of a rank per second.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Moves {
    /// Messages sent.
    pub messages_per_s: f64,
    /// Bytes of messages sent.
    pub sent_bytes_per_s: f64,
    /// Bytes of messages received.
    pub received_bytes_per_s: f64,
    /// Bytes of messages received by a single copy between the memories of two ranks, without a buffer between them.
    pub copied_bytes_per_s: f64,
    /// Bytes sent over each TCP rail.
    pub rails_bytes_per_s: Vec<f64>,
    /// The share of the time in waits, 0 to 1.
    pub waiting: f64,
    /// Number of sleeps per second.
    pub sleeps_per_s: f64,
}

/// The last report of each rank of each job that reported.
#[derive(Debug, Default)]
pub struct Rates {
    last: HashMap<(u32, u32), (f64, RankReport)>,
}

impl Rates {
    /// Returns the activity of the jobs of these reports, compared with the last reports.
    pub fn since_the_last(&mut self, reports: Vec<JobReport>) -> Vec<JobRates> {
        let running: Vec<u32> = reports.iter().map(|report| report.job).collect();
        self.last.retain(|(job, _), _| running.contains(job));
        reports.into_iter().map(|report| self.of_job(report)).collect()
    }

    fn of_job(&mut self, report: JobReport) -> JobRates {
        let JobReport { job, command, seconds, rails, ranks, is_profile_measured, .. } = report;
        let ranks: Vec<_> =
            ranks.into_iter().map(|rank| self.of_rank(job, seconds, rails.len(), rank)).collect();
        let mut states = BTreeMap::new();
        ranks.iter().for_each(|rank| *states.entry(rank.state).or_default() += 1);
        JobRates { job, command, seconds, states, rails: rails.len(), is_profile_measured, ranks }
    }

    fn of_rank(&mut self, job: u32, seconds: f64, rails: usize, report: RankReport) -> RankRates {
        let key = (job, report.rank);
        let earlier = self.last.get(&key);
        // If a rank has no new report, its old one is kept: the next difference covers the whole time.
        let moves = earlier
            .filter(|(then, _)| report.current && seconds > *then)
            .map(|(then, earlier)| moved(earlier, &report, seconds - then, rails));
        let RankReport { rank, host, pid, doing, lanes, .. } = &report;
        let rates = RankRates {
            rank: *rank,
            host: host.clone(),
            pid: *pid,
            state: state(&report),
            doing: doing.clone(),
            lanes: *lanes,
            moves,
        };
        if report.current {
            self.last.insert(key, (seconds, report));
        }
        rates
    }
}

/// Returns the traffic of a rank per second, over this number of seconds.
fn moved(earlier: &RankReport, now: &RankReport, seconds: f64, rails: usize) -> Moves {
    let grown = |name: &str| counter(now, name).saturating_sub(counter(earlier, name)) as f64 / seconds;
    let all = |what: &str| PROTOCOLS.iter().map(|protocol| grown(&format!("{protocol}_{what}"))).sum();
    Moves {
        messages_per_s: all("sent"),
        sent_bytes_per_s: all("sent_bytes"),
        received_bytes_per_s: all("received_bytes"),
        copied_bytes_per_s: grown("direct_received_bytes"),
        rails_bytes_per_s: (1..=rails).map(|rail| grown(&format!("rail{rail}_sent"))).collect(),
        // Several threads may wait at once.
        waiting: (grown("time_waited") / 1e9).min(1.0),
        sleeps_per_s: grown("sleeps"),
    }
}

/// Returns the activity of a rank, in one word.
fn state(rank: &RankReport) -> &'static str {
    match activity(rank) {
        Activity::Starting => "starting",
        Activity::Finished => "finished",
        Activity::Ended => "ended",
        Activity::Stopped => "stopped",
        Activity::Waits(_) => "waits",
        Activity::Calls => "calls",
        Activity::Computes => "computes",
        Activity::Sleeps(_) => "sleeps",
        Activity::Unknown => "unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(seconds: f64, current: bool, counters: &[(&str, u64)]) -> JobReport {
        let counters = counters.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        let rank = RankReport { state: "initialised".into(), current, counters, ..RankReport::default() };
        JobReport {
            job: 7,
            command: "ring".into(),
            size: 1,
            seconds,
            ranks: vec![rank],
            ..JobReport::default()
        }
    }

    fn only(mut jobs: Vec<JobRates>) -> Option<Moves> {
        jobs.remove(0).ranks.remove(0).moves
    }

    #[test]
    fn rates_are_the_growth_of_counters_over_the_time_since_the_rank_last_told() {
        let mut rates = Rates::default();
        let first = report(1.0, true, &[("short_sent", 10), ("time_waited", 5)]);
        assert_eq!(only(rates.since_the_last(vec![first])), None);
        let silent = report(2.0, false, &[("short_sent", 10)]);
        assert_eq!(only(rates.since_the_last(vec![silent])), None);
        let counters = [
            ("short_sent", 30),
            ("short_sent_bytes", 160),
            ("eager_sent", 4),
            ("eager_received_bytes", 6000),
            ("direct_received_bytes", 2000),
            ("time_waited", 1_000_000_005),
        ];
        let moves = only(rates.since_the_last(vec![report(3.0, true, &counters)])).unwrap();
        let expected = Moves {
            messages_per_s: 12.0,
            sent_bytes_per_s: 80.0,
            received_bytes_per_s: 4000.0,
            copied_bytes_per_s: 1000.0,
            rails_bytes_per_s: Vec::new(),
            waiting: 0.5,
            sleeps_per_s: 0.0,
        };
        assert_eq!(moves, expected);
    }

    #[test]
    fn a_job_that_has_ended_leaves_nothing() {
        let mut rates = Rates::default();
        rates.since_the_last(vec![report(1.0, true, &[])]);
        rates.since_the_last(Vec::new());
        assert!(rates.last.is_empty());
    }
}
