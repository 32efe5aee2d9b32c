//! Jobs that can never end: a rank has called `MPI_Finalize`, others wait for it, and no rank can go on.
//!
//! Owns the proof. Ranks describe a wait when it begins, so one report is no proof: data may move meanwhile.
//! Two reports some seconds apart are a proof if they show the same waits and no traffic between them.

use std::time::Duration;

use canele_control::{ThreadWait, WaitOperation};
use canele_sys::counters::{Counter, CounterClass};

use super::needs::{RankFacts, Ranks};
use super::{explain, facts_of};
use crate::job_report::{JobReport, RankReport};

/// A job whose ranks all wait, as one report shows it.
#[derive(Debug)]
pub struct Standstill {
    /// The sentence that says why.
    pub why: String,
    ranks: Vec<RankStandstill>,
}

/// The waits and the traffic of one rank so far.
#[derive(Debug, PartialEq)]
struct RankStandstill {
    rank: u32,
    waits: Vec<Vec<WaitOperation>>,
    traffic: Vec<(String, serde_json::Value)>,
}

impl Standstill {
    /// Finds a standstill in which each thread has waited for at least `time`.
    pub fn find(report: &JobReport, time: Duration) -> Option<Standstill> {
        let facts: Vec<_> = report.ranks.iter().map(facts_of).collect();
        let stuck = Ranks::new(&facts).stuck();
        let running: Vec<_> = facts.iter().zip(&report.ranks).filter(|(facts, _)| !facts.is_gone).collect();
        let finalizing = running.iter().filter(|(facts, _)| facts.is_finalizing).count();
        let is_partly_at_its_end = (1..running.len()).contains(&finalizing);
        let is_between_hosts = report.ranks.iter().any(|rank| rank.host != report.ranks[0].host);
        let waits_for_ever = |(facts, rank): &(&RankFacts<'_>, &RankReport)| {
            stuck.contains(&facts.rank)
                && rank.current
                && facts.waits.iter().all(|wait| is_endless(wait, time))
                && has_no_other_threads(rank, is_between_hosts)
        };
        if !is_partly_at_its_end || !running.iter().all(waits_for_ever) {
            return None;
        }
        let ranks = running.iter().map(|(facts, rank)| RankStandstill::of(facts, rank)).collect();
        Some(Standstill { why: explain(report).conclusion.swap_remove(0), ranks })
    }

    /// Returns a standstill of one rank that waits for the operation that `why` names.
    #[cfg(test)]
    pub fn of_words(why: &'static str) -> Standstill {
        let operation = WaitOperation::Other { what: why.into(), peer: None };
        let ranks = vec![RankStandstill { rank: 0, waits: vec![vec![operation]], traffic: Vec::new() }];
        Standstill { why: why.into(), ranks }
    }

    /// Returns true if nothing has moved since the earlier standstill.
    pub fn is_as(&self, earlier: &Standstill) -> bool {
        self.ranks == earlier.ranks
    }
}

impl RankStandstill {
    fn of(facts: &RankFacts<'_>, rank: &RankReport) -> Self {
        let traffic = rank.counters.iter().filter(|(name, _)| is_traffic(name));
        Self {
            rank: rank.rank,
            waits: facts.waits.iter().map(|wait| wait.operations.clone()).collect(),
            traffic: traffic.map(|(name, value)| (name.clone(), value.clone())).collect(),
        }
    }
}

/// Returns true for a counter that changes when data moves, and at no other time.
fn is_traffic(name: &str) -> bool {
    let row = Counter::TABLE.iter().find(|row| row.name == name);
    row.is_some_and(|row| {
        ["messages", "bytes", "cells", "packets"].contains(&row.unit)
            && matches!(row.class, CounterClass::Count | CounterClass::Sum)
    })
}

/// Returns true for a wait that has lasted for `time` and that only messages can end. A peer that waits
/// itself still serves other operations, such as those on its memory.
fn is_endless(wait: &ThreadWait, time: Duration) -> bool {
    let is_of_messages = |operation: &WaitOperation| !matches!(operation, WaitOperation::Other { .. });
    !wait.ends_otherwise
        && Duration::from_nanos(wait.waited_ns) >= time
        && wait.operations.iter().all(is_of_messages)
}

/// Returns true if all threads of a rank wait for its library, or for another thread. Between hosts, the
/// threads that wait for the library may sleep on descriptors.
fn has_no_other_threads(rank: &RankReport, is_between_hosts: bool) -> bool {
    let Some(process) = &rank.process else { return false };
    let noted = rank.waits.as_ref().map_or(0, |waits| waits.threads.len() as u32);
    let on_descriptors = if is_between_hosts { noted } else { 0 };
    process.threads > 0 && process.threads <= process.idle_threads + on_descriptors
}

#[cfg(test)]
mod tests {
    use canele_control::{WaitCollective, WaitMessage, Waits};

    use super::*;
    use crate::host_ranks::ProcessState;

    const TWO_SECONDS: Duration = Duration::from_secs(2);

    fn rank(rank: u32, operation: WaitOperation) -> RankReport {
        let wait =
            ThreadWait { waited_ns: 2_000_000_000, operations: vec![operation], ..ThreadWait::default() };
        RankReport {
            rank,
            state: "initialised".into(),
            current: true,
            waits: Some(Waits { threads: vec![wait], calls_of: Some(0), ..Waits::default() }),
            process: Some(ProcessState { threads: 3, idle_threads: 3, ..ProcessState::default() }),
            counters: [("short_received_bytes".to_owned(), 8.into())].into_iter().collect(),
            ..RankReport::default()
        }
    }

    fn waiting(number: u32, peer: u32) -> RankReport {
        let message = WaitMessage { peer: Some(peer), flow: Some(0), tag: Some(7), ..WaitMessage::default() };
        rank(number, WaitOperation::Receive(message))
    }

    fn finalizing(number: u32, peer: u32) -> RankReport {
        let collective =
            WaitCollective { operation: "barrier".into(), peers: vec![peer], ..WaitCollective::default() };
        RankReport { is_finalizing: true, ..rank(number, WaitOperation::Collective(collective)) }
    }

    fn find(ranks: Vec<RankReport>) -> Option<Standstill> {
        let size = ranks.len() as u32;
        let report = JobReport { job: 7, size, seconds: 3.0, ranks, ..JobReport::default() };
        Standstill::find(&report, TWO_SECONDS)
    }

    /// Returns a standstill of three ranks whose first one is changed.
    fn with_first(change: impl FnOnce(&mut RankReport)) -> Option<Standstill> {
        let mut first = waiting(0, 1);
        change(&mut first);
        find(vec![first, finalizing(1, 0), waiting(2, 1)])
    }

    #[test]
    fn counters_of_moved_data_are_traffic_and_levels_are_not() {
        for name in
            ["short_sent", "streamed_received_bytes", "direct_sent", "control_sent", "packets", "rail4_sent"]
        {
            assert!(is_traffic(name), "{name}");
        }
        for name in
            ["sleeps", "system_calls", "wakeups", "unexpected_held", "rail1_under_way", "deepest", "nonsense"]
        {
            assert!(!is_traffic(name), "{name}");
        }
    }

    #[test]
    fn ranks_that_wait_for_one_that_finalizes_stand_still() {
        let found = with_first(|_| {}).unwrap();
        assert_eq!(found.why, "rank 1 has called MPI_Finalize, and ranks 0, 2 still wait for it");
        assert!(with_first(|first| first.state = "ended".into()).is_some());
        // Without such a rank it is for `canele why` and the time limit.
        assert!(find(vec![waiting(0, 1), waiting(1, 0)]).is_none());
        assert!(find(vec![finalizing(0, 1), finalizing(1, 0)]).is_none());
    }

    #[test]
    fn a_rank_that_may_go_on_is_no_standstill() {
        let wait = |first: &mut RankReport| first.waits.as_mut().unwrap().threads.remove(0);
        let again = |first: &mut RankReport, wait| first.waits.as_mut().unwrap().threads.push(wait);
        let served = WaitOperation::Other { what: "a flush".into(), peer: Some(1) };
        assert!(with_first(|first| first.waits = None).is_none(), "computes");
        assert!(with_first(|first| first.current = false).is_none(), "does not answer");
        let late = |first: &mut RankReport| {
            let wait = ThreadWait { waited_ns: 1_000_000_000, ..wait(first) };
            again(first, wait);
        };
        assert!(with_first(late).is_none(), "has not waited long");
        let with_deadline = |first: &mut RankReport| {
            let wait = ThreadWait { ends_otherwise: true, ..wait(first) };
            again(first, wait);
        };
        assert!(with_first(with_deadline).is_none(), "has a deadline");
        let of_memory = |first: &mut RankReport| {
            let wait = ThreadWait { operations: vec![served], ..wait(first) };
            again(first, wait);
        };
        assert!(with_first(of_memory).is_none(), "a peer that waits serves it");
        let busy = |first: &mut RankReport| first.process.as_mut().unwrap().idle_threads = 2;
        assert!(with_first(busy).is_none(), "another thread computes");
        assert!(with_first(|first| first.process = None).is_none(), "nothing is known of its threads");
        // Between hosts the one thread that waits may sleep on descriptors.
        let elsewhere = |first: &mut RankReport| {
            busy(first);
            first.host = "h1".into();
        };
        assert!(with_first(elsewhere).is_some());
    }

    #[test]
    fn traffic_between_two_reports_is_no_standstill() {
        let earlier = with_first(|_| {}).unwrap();
        assert!(with_first(|_| {}).unwrap().is_as(&earlier));
        let moved = |first: &mut RankReport| {
            first.counters.insert("short_received_bytes".into(), 9.into());
        };
        assert!(!with_first(moved).unwrap().is_as(&earlier));
        let other = |first: &mut RankReport| *first = waiting(0, 2);
        assert!(with_first(other).is_none_or(|later| !later.is_as(&earlier)));
    }
}
