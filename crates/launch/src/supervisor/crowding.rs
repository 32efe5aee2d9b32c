//! Detection of ranks that share the processors that they were bound to, and their release.
//!
//! Owns the times of the checks, and the criterion for sharing. Jobs of other containers and programs of
//! other users make no claims that this job can see. They are detected by the time for which a runnable rank
//! waits for its processor.

use std::fs;
use std::time::{Duration, Instant};

use canele_sys::affinity::ProcessorSet;
use canele_sys::bounded_read::read_kernel;

use crate::descendants::below;
use crate::own_line::say_at_once;

/// The time from a start to the first check.
const FIRST: Duration = Duration::from_millis(250);
/// The longest time between checks, to which it doubles.
const LONGEST: Duration = Duration::from_secs(32);
/// A rank shares its processors if it waits for more than this part of the time.
const WAITING_PART: u32 = 5;
/// The most passes over all threads: threads may start others while they are released.
const MOST_PASSES: usize = 10;

/// The ranks that are released once one of them shares its processors.
#[derive(Default)]
pub struct Crowding {
    watched: Vec<Watched>,
    /// The time of the last check, and the time until the next one.
    last: Option<(Instant, Duration)>,
    /// True if the user wants reports of bindings.
    reports: bool,
}

struct Watched {
    pid: u32,
    processors: Vec<u32>,
    /// The time that its first thread had waited at the last check.
    waited: Duration,
}

impl Crowding {
    /// Watches a rank that has just started on these processors.
    pub fn watch(&mut self, pid: u32, processors: &[u32], reports: bool) {
        self.watched.push(Watched { pid, processors: processors.to_vec(), waited: Duration::ZERO });
        self.last = Some((Instant::now(), FIRST));
        self.reports = reports;
    }

    /// Forgets a process that has ended.
    pub fn forget(&mut self, pid: u32) {
        self.watched.retain(|rank| rank.pid != pid);
    }

    /// Returns the next time at which [`look`](Self::look) has work.
    pub fn deadline(&self) -> Option<Instant> {
        let (at, interval) = self.last.filter(|_| !self.watched.is_empty())?;
        Some(at + interval)
    }

    /// Checks the ranks if it is time, and releases all of them if one shares its processors.
    pub fn look(&mut self, now: Instant) {
        let Some((at, interval)) = self.last.filter(|_| self.deadline().is_some_and(|due| now >= due)) else {
            return;
        };
        let passed = now - at;
        let mut is_crowded = false;
        for rank in &mut self.watched {
            let Some(waited) = waited(rank.pid) else { continue };
            is_crowded |= shares(waited.saturating_sub(rank.waited), passed);
            rank.waited = waited;
        }
        self.last = Some((now, (interval * 2).min(LONGEST)));
        if is_crowded {
            self.release();
        }
    }

    /// Lets all ranks run on every processor that this process may use.
    fn release(&mut self) {
        let watched = std::mem::take(&mut self.watched);
        let Ok(everywhere) = ProcessorSet::of_thread() else { return };
        for _ in 0..MOST_PASSES {
            let bound = threads().filter(|(_, bound)| watched.iter().any(|rank| rank.processors == *bound));
            // A thread may end meanwhile.
            if bound.filter(|(id, _)| everywhere.bind(*id).is_ok()).count() == 0 {
                break;
            }
        }
        if self.reports {
            say_at_once("ranks are no longer bound: others run on their processors too");
        }
    }
}

/// Returns the threads of all processes below this one, each with its processors.
fn threads() -> impl Iterator<Item = (u32, Vec<u32>)> {
    let folders = below(0)
        .into_iter()
        .filter_map(|pid| fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero())).ok());
    let ids = folders.flatten().flatten().filter_map(|thread| thread.file_name().to_str()?.parse().ok());
    ids.filter_map(|id| Some((id, ProcessorSet::of(id).ok()?.processors())))
}

/// Returns the time that the first thread of a process has waited for a processor; none if the kernel does
/// not tell.
fn waited(pid: u32) -> Option<Duration> {
    parse(&read_kernel(format!("/proc/{pid}/schedstat")).ok()?)
}

/// Parses the second number of `schedstat`, in nanoseconds.
fn parse(schedstat: &str) -> Option<Duration> {
    schedstat.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// Returns true if a rank shares its processors: it has waited for `waited` of the time `passed`.
fn shares(waited: Duration, passed: Duration) -> bool {
    waited * WAITING_PART > passed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_a_thread_waited_is_the_second_number() {
        assert_eq!(parse("12000 3500 17\n"), Some(Duration::from_nanos(3500)));
        assert_eq!(parse(""), None);
        assert_eq!(parse("12 many 1"), None);
    }

    #[test]
    fn a_rank_that_waits_now_and_then_has_its_processors_alone() {
        let second = Duration::from_secs(1);
        assert!(!shares(second / 10, second));
        assert!(shares(second / 2, second));
    }

    #[test]
    fn looks_become_rare() {
        let mut crowding = Crowding::default();
        assert_eq!(crowding.deadline(), None);
        crowding.watch(std::process::id(), &[0], false);
        let mut due = crowding.deadline().expect("a rank is watched");
        let mut between = Vec::new();
        for _ in 0..10 {
            // Measurements of this process must not end the test's rank.
            crowding.watched[0].waited = Duration::MAX;
            crowding.look(due);
            let next = crowding.deadline().expect("it is still watched");
            between.push(next - due);
            due = next;
        }
        assert_eq!(between[..3], [FIRST * 2, FIRST * 4, FIRST * 8]);
        assert_eq!(between[9], LONGEST);
        crowding.forget(std::process::id());
        assert_eq!(crowding.deadline(), None);
    }
}
