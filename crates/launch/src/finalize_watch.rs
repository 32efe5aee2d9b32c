//! Detection of jobs that never end because a rank finalises while others still wait for it. A program in
//! Python does so when an exception ends one rank: its interpreter calls `MPI_Finalize`, which waits for the
//! other ranks.
//!
//! Owns the times at which the launcher asks ranks for their state, and the conclusion. A job ends only if no
//! rank can go on.

use std::time::{Duration, Instant};

use super::job_report::JobReport;
use super::why::Standstill;

/// The time that ranks wait for others before their job is ended.
pub const FINALIZE_GRACE: Duration = Duration::from_secs(10);
/// The longest interval between two requests; the interval doubles up to it.
const LONGEST_INTERVAL: Duration = Duration::from_secs(80);

/// The time between the two reports that prove a standstill. Ranks that wait look around once per second, so no time here
/// is a whole number of seconds: a report would often find a rank awake.
const BETWEEN_PROOFS: Duration = Duration::from_millis(5_300);
/// The time from the call of `MPI_Finalize` to the first request. The waits of the other ranks may have begun a
/// moment later.
const BEFORE_FIRST: Duration = Duration::from_millis(10_400);

/// The schedule of the launcher's requests.
#[derive(Debug, Default)]
pub struct FinalizeWatch {
    /// The time of the next request, and the interval to the following one.
    next: Option<(Instant, Duration)>,
    /// True if the launcher has asked and has no answer yet.
    has_asked: bool,
    /// The standstill that the last report showed.
    found: Option<Standstill>,
}

impl FinalizeWatch {
    /// Notes that a rank has called `MPI_Finalize`.
    pub fn begin(&mut self, now: Instant) {
        self.next.get_or_insert((now + BEFORE_FIRST, FINALIZE_GRACE));
    }

    /// Returns the time of the next request.
    pub fn deadline(&self) -> Option<Instant> {
        self.next.map(|(at, _)| at)
    }

    /// Returns true if the launcher must ask now.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let Some((at, interval)) = self.next.filter(|(at, _)| now >= *at) else { return false };
        self.next = Some((at.max(now) + interval, (interval * 2).min(LONGEST_INTERVAL)));
        self.has_asked = true;
        true
    }

    /// Returns the reason why the job never ends, if two reports show the same standstill.
    pub fn judge(&mut self, report: &JobReport, now: Instant) -> Option<String> {
        if !std::mem::take(&mut self.has_asked) {
            return None;
        }
        self.compare(Standstill::find(report, FINALIZE_GRACE), now)
    }

    fn compare(&mut self, found: Option<Standstill>, now: Instant) -> Option<String> {
        let earlier = std::mem::replace(&mut self.found, found);
        if let (Some(found), Some(earlier)) = (&self.found, &earlier)
            && found.is_as(earlier)
        {
            return Some(found.why.clone());
        }
        // Also a report without a standstill is soon followed by another: it may have found a rank awake for a moment.
        if self.found.is_some() || earlier.is_some() {
            self.next = self.next.map(|(at, interval)| (at.min(now + BETWEEN_PROOFS), interval));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rank_that_finalizes_begins_questions_at_growing_intervals() {
        let (mut watch, start) = (FinalizeWatch::default(), Instant::now());
        assert_eq!(watch.deadline(), None);
        watch.begin(start);
        watch.begin(start + FINALIZE_GRACE);
        let mut waited = Vec::new();
        for _ in 0..6 {
            let at = watch.deadline().unwrap();
            assert!(!watch.is_due(at - Duration::from_millis(1)) && watch.is_due(at));
            waited.push((at - start).as_secs());
        }
        assert_eq!(waited, [10, 20, 40, 80, 160, 240]);
    }

    #[test]
    fn a_standstill_that_one_report_misses_is_proved_by_the_next_two() {
        let (mut watch, start) = (FinalizeWatch::default(), Instant::now());
        watch.begin(start);
        assert!(watch.is_due(start + BEFORE_FIRST));
        let mut now = start + BEFORE_FIRST;
        for report in [Some("a"), None, Some("a"), Some("b")] {
            assert_eq!(watch.compare(report.map(Standstill::of_words), now), None);
            assert_eq!(watch.deadline(), Some(now + BETWEEN_PROOFS));
            now += BETWEEN_PROOFS;
            assert!(watch.is_due(now));
        }
        assert_eq!(watch.compare(Some(Standstill::of_words("b")), now).as_deref(), Some("b"));
        // Without a standstill in two reports it waits for the long interval.
        let (mut watch, now) = (FinalizeWatch::default(), start + BEFORE_FIRST);
        watch.begin(start);
        assert!(watch.is_due(now));
        assert_eq!(watch.compare(None, now), None);
        assert_eq!(watch.deadline(), Some(now + FINALIZE_GRACE));
    }
}
