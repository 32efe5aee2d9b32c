//! The ranks' counters, links and waits, updated for an answer about the job.
//!
//! A notified rank writes its counters and its waits in its next progress pass, and sends its links; a
//! sleeping rank is woken for it. A rank that computes outside of the library makes no pass. So the host
//! checks for a bounded time, between its other work, and then answers with the available data.

use std::mem;
use std::time::{Duration, Instant};

use canele_control::{Links, Waits};
use canele_rail::shm::InboxNotifier;
use canele_sys::clock;
use canele_sys::counters::Counter;

use super::local_ranks::{LocalRank, LocalRanks};
use super::orders::Counts;
use super::outside::{ProcessState, places_of, process_state};
use super::running_at::running_at;

/// The pause between two checks for new counters.
const LOOK: Duration = Duration::from_millis(1);
/// A request for the counters of the ranks, in progress.
#[derive(Debug)]
pub struct Counting {
    /// The number of the request, chosen by the asker.
    pub question: u32,
    /// True if the request asks for places in the code.
    has_places: bool,
    until: Instant,
    /// The state of each process before the request, which wakes threads.
    processes: Vec<Option<ProcessState>>,
    /// The number of the notification of each rank.
    notifications: Vec<Option<u32>>,
    /// The links of each rank, if it has sent them.
    links: Vec<Option<Links>>,
    /// The number of the notification of each rank on each further lane.
    of_lanes: Vec<Vec<Option<u32>>>,
}

/// The ranks of a host, and the ranks on each further lane.
type RanksAndLanes<'a> = (&'a LocalRanks, &'a [LocalRanks]);

impl Counting {
    /// Asks every rank that can write, and waits for them until `until`.
    pub fn start(
        question: u32,
        has_places: bool,
        (local_ranks, lanes): RanksAndLanes<'_>,
        until: Instant,
    ) -> Counting {
        let state = |local_rank: &LocalRank| local_rank.pid.and_then(process_state);
        let processes = local_ranks.all().iter().map(state).collect();
        let ask = |local_rank: &LocalRank| match local_rank.notifier() {
            Some(notifier) if local_rank.is_inside() => Some(notifier.notify()),
            _ => None,
        };
        let ask_all = |ranks: &LocalRanks| ranks.all().iter().map(ask).collect::<Vec<_>>();
        let notifications = ask_all(local_ranks);
        let of_lanes = lanes.iter().map(ask_all).collect();
        let links = vec![None; notifications.len()];
        Counting { question, has_places, until, processes, links, notifications, of_lanes }
    }

    /// Stores the links of the rank that has this index.
    pub fn note_links(&mut self, place: usize, links: &Links) {
        // A rank that was spawned later was not asked.
        if let Some(place) = self.links.get_mut(place) {
            *place = Some(links.clone());
        }
    }

    /// Returns the time of the next check.
    pub fn next_look(&self, now: Instant) -> Instant {
        self.until.min(now + LOOK)
    }

    /// Returns true if there is nothing left to wait for.
    pub fn is_over(&self, (local_ranks, lanes): RanksAndLanes<'_>, now: Instant) -> bool {
        let all = local_ranks.all().iter().zip(&self.notifications).zip(&self.links);
        let mut asked = all.filter(|((_, notification), _)| notification.is_some());
        let has_said = |((local_rank, notification), links): ((&LocalRank, &Option<u32>), &Option<Links>)| {
            !local_rank.is_inside() || links.is_some() && is_current(local_rank, *notification)
        };
        let of_lanes = lanes.iter().zip(&self.of_lanes);
        let mut of_lanes = of_lanes.flat_map(|(ranks, notifications)| ranks.all().iter().zip(notifications));
        let has_counted = |(lane, notification): (&LocalRank, &Option<u32>)| {
            notification.is_none() || !lane.is_inside() || is_current(lane, *notification)
        };
        now >= self.until || asked.all(has_said) && of_lanes.all(has_counted)
    }

    /// Returns the available counts.
    pub fn counts(&self, (local_ranks, lanes): RanksAndLanes<'_>) -> Vec<Counts> {
        let now_ns = clock::monotonic_ns();
        let computing = match self.has_places {
            true => self.where_they_compute(local_ranks),
            false => Vec::new(),
        };
        let count = |place: usize| {
            let local_rank = &local_ranks.all()[place];
            let (notification, links) = (self.notifications.get(place), self.links.get(place));
            let current = is_current(local_rank, notification.copied().flatten());
            let told = |local_rank: &LocalRank| {
                let record = local_rank.notifier().and_then(InboxNotifier::waits)?;
                Waits::decode(&record, now_ns)
            };
            let lanes = || (1..).zip(lanes.iter().filter_map(|ranks| ranks.all().get(place)));
            let mut waits = told(local_rank);
            for (number, lane) in lanes() {
                if let Some(of_lane) = told(lane) {
                    waits.get_or_insert_default().add_lane(number, of_lane);
                }
            }
            let counters = lanes().fold(counters(local_rank), |sum, (_, lane)| added(sum, counters(lane)));
            let mut calls = waits.as_mut().map(|waits| mem::take(&mut waits.calls)).unwrap_or_default();
            if !current {
                // The rank's own report is older than the request.
                calls =
                    computing.get(place).copied().flatten().map(|address| address + 1).into_iter().collect();
            }
            let further = lanes().filter(|(_, lane)| lane.is_inside()).count() as u32;
            Counts {
                current,
                lanes: further + u32::from(local_rank.is_inside()),
                counters: counters.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
                links: links.cloned().flatten().filter(|_| local_rank.is_inside()),
                waits,
                calls: local_rank
                    .pid
                    .filter(|_| self.has_places)
                    .map(|pid| places_of(pid, &calls))
                    .unwrap_or_default(),
                process: self.processes.get(place).cloned().flatten(),
            }
        };
        (0..local_ranks.all().len()).map(count).collect()
    }

    /// Returns the code address of each rank that runs and makes no progress pass.
    fn where_they_compute(&self, local_ranks: &LocalRanks) -> Vec<Option<u64>> {
        let all = local_ranks.all().iter().zip(&self.processes).zip(&self.notifications);
        let asked = all.map(|((local_rank, process), notification)| {
            let runs = process.as_ref().is_some_and(|process| process.letter == "R");
            local_rank.pid.filter(|_| runs && !is_current(local_rank, *notification)).unwrap_or(0)
        });
        running_at(&asked.collect::<Vec<_>>())
    }
}

/// Returns the counters that a rank, or one of its lanes, has last written.
fn counters(local_rank: &LocalRank) -> Vec<(&'static str, u64)> {
    local_rank.notifier().map(|notifier| notifier.counters()).unwrap_or_default()
}

/// Adds the counters of a further lane, which may have none, to those of a rank; both are in the order of
/// their table.
fn added(mut sum: Vec<(&'static str, u64)>, more: Vec<(&'static str, u64)>) -> Vec<(&'static str, u64)> {
    let rows = Counter::TABLE.iter().zip(&mut sum).zip(more);
    rows.for_each(|((row, (_, sum)), (_, more))| *sum = row.counter.of_both(*sum, more));
    sum
}

/// Returns true if the counters of a rank were written after the request, or if the rank has finished.
fn is_current(local_rank: &LocalRank, notification: Option<u32>) -> bool {
    let wrote = || Some(local_rank.notifier()?.has_counted(notification?));
    local_rank.finished || wrote().unwrap_or(false)
}
