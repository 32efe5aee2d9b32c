//! The polling interval of a rail: every pass while its links are active, rarely while they are idle.
//!
//! Knows no link. A sleeping rank is woken by the system and does not poll.

use std::time::{Duration, Instant};

/// Passes after the last traffic until a rail is idle. They last somewhat longer than an answer takes.
const LIVELY_PASSES: u32 = 256;
/// Least interval between polls of an idle rail.
const PERIOD: Duration = Duration::from_micros(2);

/// Limits the polls of a rail; see the module's text.
pub struct PollInterval {
    /// Passes left before the rail is idle.
    lively: u32,
    asked: Option<Instant>,
}

impl PollInterval {
    pub fn new() -> Self {
        Self { lively: LIVELY_PASSES, asked: None }
    }

    /// Notes that something was sent or received.
    #[inline(always)]
    pub fn renew(&mut self) {
        self.lively = LIVELY_PASSES;
    }

    /// Returns true if this pass polls the system.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        if self.lively > 0 {
            self.lively -= 1;
            return true;
        }
        self.is_due_at(Instant::now())
    }

    fn is_due_at(&mut self, now: Instant) -> bool {
        let is_due = self.asked.is_none_or(|asked| now.saturating_duration_since(asked) >= PERIOD);
        if is_due {
            self.asked = Some(now);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lively_rail_asks_in_every_pass_and_an_idle_one_once_a_period() {
        let mut interval = PollInterval::new();
        (0..10).for_each(|_| assert!(interval.is_due()));
        interval.renew();
        (0..LIVELY_PASSES).for_each(|_| assert!(interval.is_due()));
        let now = Instant::now();
        assert!(interval.is_due_at(now), "never asked");
        assert!(!interval.is_due_at(now + PERIOD / 2));
        assert!(interval.is_due_at(now + PERIOD));
        assert!(!interval.is_due_at(now + PERIOD));
        interval.renew();
        assert!(interval.is_due());
    }
}
