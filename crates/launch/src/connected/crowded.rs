//! Jobs whose listener had no room for a connection: other users may fill its queue, which its launcher
//! empties.
//!
//! Owns the times of the next attempts and their end.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The time during which a job is tried.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The pause between two attempts.
const AGAIN: Duration = Duration::from_millis(10);

/// The jobs, by their numbers, each with the end of its attempts and the time of the next one.
#[derive(Debug, Default)]
pub struct CrowdedJobs(HashMap<u64, (Instant, Option<Instant>)>);

impl CrowdedJobs {
    /// Notes that a job had no room. Returns true if it is tried again.
    pub fn try_again(&mut self, job: u64, now: Instant) -> bool {
        let (until, next) = self.0.entry(job).or_insert((now + TIMEOUT, None));
        *next = Some(now + AGAIN);
        now < *until
    }

    /// Forgets a job that had room, or is tried no more.
    pub fn forget(&mut self, job: u64) {
        self.0.remove(&job);
    }

    /// Returns the next time at which [`take_due`](Self::take_due) has a job.
    pub fn deadline(&self) -> Option<Instant> {
        self.0.values().filter_map(|(_, next)| *next).min()
    }

    /// Takes the jobs to be tried now.
    pub fn take_due(&mut self, now: Instant) -> Vec<u64> {
        let due = self.0.iter_mut().filter(|(_, (_, next))| next.is_some_and(|at| at <= now));
        due.map(|(job, (_, next))| {
            *next = None;
            *job
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_without_room_is_tried_until_its_time_is_over() {
        let (mut jobs, start) = (CrowdedJobs::default(), Instant::now());
        assert!(jobs.try_again(7, start));
        assert_eq!((jobs.deadline(), jobs.take_due(start).len()), (Some(start + AGAIN), 0));
        assert_eq!(jobs.take_due(start + AGAIN), [7]);
        assert_eq!(jobs.deadline(), None, "it is being tried");
        assert!(jobs.try_again(7, start + TIMEOUT / 2));
        assert!(!jobs.try_again(7, start + TIMEOUT));
        jobs.forget(7);
        assert!(jobs.try_again(7, start + TIMEOUT), "anew");
    }
}
