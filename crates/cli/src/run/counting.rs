//! The ranks' counters, brought up to date for an answer about the job.
//!
//! Each rank writes its counters when it is rung for, in its next progress pass; one that sleeps is woken for it. A rank
//! that computes outside of the library does not come by, so the launcher looks for a bounded time, between the other
//! things it does, and then answers with what there is.

use std::time::{Duration, Instant};

use super::job::{Job, Member};

/// How long ranks may take.
const PATIENCE: Duration = Duration::from_millis(50);
/// Between two looks whether they have written.
const LOOK: Duration = Duration::from_millis(1);

/// The ranks have been asked for their counters.
#[derive(Debug)]
pub struct Counting {
    until: Instant,
    /// By rank, the number of the ring.
    rings: Vec<Option<u32>>,
}

impl Counting {
    /// Asks every rank that can write.
    pub fn start(job: &Job, now: Instant) -> Counting {
        let ask = |member: &Member| match member.doorbell() {
            Some(doorbell) if member.initialised && !member.finished && member.exit.is_none() => {
                Some(doorbell.ring())
            }
            _ => None,
        };
        Counting { until: now + PATIENCE, rings: job.members().iter().map(ask).collect() }
    }

    /// When to look again.
    pub fn next_look(&self, now: Instant) -> Instant {
        self.until.min(now + LOOK)
    }

    /// Whether there is nothing to be waited for any more.
    pub fn is_over(&self, job: &Job, now: Instant) -> bool {
        let missing = |(rank, member): (u32, &Member)| member.exit.is_none() && !self.is_current(job, rank);
        let asked = (0..).zip(job.members()).filter(|(rank, _)| self.rings[*rank as usize].is_some());
        now >= self.until || !asked.into_iter().any(missing)
    }

    /// Whether the counters of `rank` are of after the question, or its last.
    pub fn is_current(&self, job: &Job, rank: u32) -> bool {
        let member = job.member(rank);
        let wrote = || Some(member.doorbell()?.has_counted(self.rings[rank as usize]?));
        member.finished || wrote().unwrap_or(false)
    }
}
