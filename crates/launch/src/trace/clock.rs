//! Conversion of a host's clock to the launcher's time.
//!
//! Each host's monotonic clock begins at another moment and runs at a slightly different rate. The launcher
//! asks each host for its time over the control connection. The host gives its answer between the request and
//! the arrival of the answer, which bounds the difference. The fastest answer at the start and the fastest at
//! the end determine a straight line.

/// The answers about a host's clock. A host that was not asked has the launcher's clock.
#[derive(Debug, Default)]
pub struct HostClock {
    first: Option<Comparison>,
    last: Option<Comparison>,
    /// The number of answers in this series of requests.
    answers: u32,
    has_begun: bool,
    is_ending: bool,
}

/// One request and its answer.
#[derive(Debug, Clone, Copy)]
struct Comparison {
    /// The launcher's time halfway between request and arrival.
    at_ns: u64,
    /// The host's time minus the launcher's.
    ahead_ns: i64,
    /// The time that the answer took.
    took_ns: u64,
}

impl HostClock {
    /// Begins the series of requests at the start of the job; returns false if it has begun before.
    pub fn begin(&mut self) -> bool {
        !std::mem::replace(&mut self.has_begun, true)
    }

    /// Begins the series of requests at the end of the job. Returns false if it has begun before, or if there
    /// was no series at the start.
    pub fn begin_again(&mut self) -> bool {
        self.answers = 0;
        self.has_begun && !std::mem::replace(&mut self.is_ending, true)
    }

    /// Notes the answer to a request that was sent at `asked_ns`. `host_ns` is the host's time, `now_ns` the
    /// time of arrival. Returns the number of answers of this series.
    pub fn note(&mut self, asked_ns: u64, host_ns: u64, now_ns: u64) -> u32 {
        // A time that this launcher never sent is ignored.
        let Some(took_ns) = now_ns.checked_sub(asked_ns) else { return u32::MAX };
        let at_ns = asked_ns + took_ns / 2;
        let new = Comparison { at_ns, ahead_ns: host_ns.wrapping_sub(at_ns) as i64, took_ns };
        let best = if self.is_ending { &mut self.last } else { &mut self.first };
        if best.is_none_or(|best| took_ns < best.took_ns) {
            *best = Some(new);
        }
        self.answers += 1;
        self.answers
    }

    /// Converts a time of the host to the launcher's.
    pub fn to_launcher(&self, host_ns: u64) -> u64 {
        let (Some(first), Some(last)) = (self.first.or(self.last), self.last.or(self.first)) else {
            return host_ns;
        };
        let apart = last.at_ns.saturating_sub(first.at_ns);
        let since = host_ns.wrapping_sub(first.ahead_ns as u64).wrapping_sub(first.at_ns) as i64;
        let drift = match apart {
            0 => 0,
            _ => {
                (i128::from(last.ahead_ns.wrapping_sub(first.ahead_ns)) * i128::from(since)
                    / i128::from(apart)) as i64
            }
        };
        host_ns.wrapping_sub(first.ahead_ns.wrapping_add(drift) as u64)
    }

    /// Returns the largest error of a time at the moments of comparison.
    pub fn uncertainty_ns(&self) -> u64 {
        [self.first, self.last].iter().flatten().map(|best| best.took_ns / 2).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_clock_that_was_never_compared_is_the_launchers() {
        assert_eq!(HostClock::default().to_launcher(77), 77);
        assert_eq!(HostClock::default().uncertainty_ns(), 0);
    }

    #[test]
    fn the_closest_answer_counts_and_another_start_is_taken_off() {
        let mut clock = HostClock::default();
        assert!(clock.begin() && !clock.begin());
        // The host's clock is behind by 3 s; the second answer took less time, and the third has an
        // impossible time.
        assert_eq!(clock.note(10 * SECOND, 7 * SECOND + 900, 10 * SECOND + 1000), 1);
        assert_eq!(clock.note(11 * SECOND, 8 * SECOND + 5, 11 * SECOND + 10), 2);
        assert_eq!(clock.note(13 * SECOND, 9 * SECOND, 12 * SECOND), u32::MAX);
        assert_eq!(clock.to_launcher(9 * SECOND), 12 * SECOND);
        assert_eq!(clock.uncertainty_ns(), 5);
    }

    #[test]
    fn a_clock_that_runs_faster_is_followed() {
        let mut clock = HostClock::default();
        clock.begin();
        // The clock is ahead by 100 s at first, and by 1 ms more each 10 s.
        clock.note(10 * SECOND, 110 * SECOND, 10 * SECOND);
        assert!(clock.begin_again() && !clock.begin_again());
        assert_eq!(clock.note(20 * SECOND, 120 * SECOND + 1_000_000, 20 * SECOND), 1);
        assert_eq!(clock.to_launcher(110 * SECOND), 10 * SECOND);
        assert!(clock.to_launcher(120 * SECOND + 1_000_000).abs_diff(20 * SECOND) < 200);
        assert!(clock.to_launcher(115 * SECOND + 500_000).abs_diff(15 * SECOND) < 200);
    }

    #[test]
    fn times_that_cannot_be_give_no_panic() {
        let mut clock = HostClock::default();
        clock.begin();
        clock.note(0, u64::MAX, 0);
        clock.begin_again();
        clock.note(u64::MAX - 1, 0, u64::MAX);
        for time in [0, 1, u64::MAX / 2, u64::MAX] {
            clock.to_launcher(time);
        }
    }
}
