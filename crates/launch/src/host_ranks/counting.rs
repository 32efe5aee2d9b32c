//! The ranks' counters, brought up to date for an answer about the job, their links, and what they wait for.
//!
//! Each rank writes its counters and what it waits for when it is notified, in its next progress pass, and tells its links; one that sleeps is woken
//! for it. A rank that computes outside of the library does not come by, so the host looks for a bounded time, between the
//! other things it does, and then answers with what there is.

use std::mem;
use std::time::{Duration, Instant};

use canele_control::{Links, Waits};
use canele_rail::shm::InboxNotifier;
use canele_sys::clock;

use super::local_ranks::{LocalRank, LocalRanks};
use super::orders::Counts;
use super::outside::{places_of, process_state};

/// Between two looks whether they have written.
const LOOK: Duration = Duration::from_millis(1);
/// The ranks have been asked for their counters.
#[derive(Debug)]
pub struct Counting {
    /// Who asked, in words of theirs.
    pub question: u32,
    until: Instant,
    /// Of each rank, the number of the notification.
    notifications: Vec<Option<u32>>,
    /// Of each rank, if it has told them.
    links: Vec<Option<Links>>,
}

impl Counting {
    /// Asks every rank that can write, and waits for them until then.
    pub fn start(question: u32, local_ranks: &LocalRanks, until: Instant) -> Counting {
        let ask = |local_rank: &LocalRank| match local_rank.notifier() {
            Some(notifier) if local_rank.is_inside() => Some(notifier.notify()),
            _ => None,
        };
        let notifications: Vec<_> = local_ranks.all().iter().map(ask).collect();
        Counting { question, until, links: vec![None; notifications.len()], notifications }
    }

    /// The rank of this place has told its links.
    pub fn note_links(&mut self, place: usize, links: &Links) {
        // One that was spawned since was not asked.
        if let Some(place) = self.links.get_mut(place) {
            *place = Some(links.clone());
        }
    }

    /// When to look again.
    pub fn next_look(&self, now: Instant) -> Instant {
        self.until.min(now + LOOK)
    }

    /// Whether there is nothing to be waited for any more.
    pub fn is_over(&self, local_ranks: &LocalRanks, now: Instant) -> bool {
        let all = local_ranks.all().iter().zip(&self.notifications).zip(&self.links);
        let mut asked = all.filter(|((_, notification), _)| notification.is_some());
        let has_said = |((local_rank, notification), links): ((&LocalRank, &Option<u32>), &Option<Links>)| {
            !local_rank.is_inside() || links.is_some() && is_current(local_rank, *notification)
        };
        now >= self.until || asked.all(has_said)
    }

    /// What there is.
    pub fn counts(&self, local_ranks: &LocalRanks) -> Vec<Counts> {
        let now_ns = clock::monotonic_ns();
        let count = |((local_rank, notification), links): ((&LocalRank, &Option<u32>), &Option<Links>)| {
            let record = local_rank.notifier().and_then(InboxNotifier::waits);
            let mut waits = record.and_then(|record| Waits::decode(&record, now_ns));
            let calls = waits.as_mut().map(|waits| mem::take(&mut waits.calls)).unwrap_or_default();
            Counts {
                current: is_current(local_rank, *notification),
                counters: local_rank
                    .notifier()
                    .map(|notifier| notifier.counters())
                    .unwrap_or_default()
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect(),
                links: links.clone().filter(|_| local_rank.is_inside()),
                waits,
                calls: local_rank.pid.map(|pid| places_of(pid, &calls)).unwrap_or_default(),
                process: local_rank.pid.and_then(process_state),
            }
        };
        local_ranks.all().iter().zip(&self.notifications).zip(&self.links).map(count).collect()
    }
}

/// Whether the counters of a rank are of after the question, or its last.
fn is_current(local_rank: &LocalRank, notification: Option<u32>) -> bool {
    let wrote = || Some(local_rank.notifier()?.has_counted(notification?));
    local_rank.finished || wrote().unwrap_or(false)
}
