//! How often a rail asks the system whether anything came: in every pass while its links carry something, seldom while they are idle.
//!
//! Knows no link. A rank that sleeps is woken by the system and asks nothing.

use std::time::{Duration, Instant};

/// So many passes after something was sent or came a rail is idle: some time longer than an answer takes.
const LIVELY_PASSES: u32 = 256;
/// A rail that is idle asks no sooner again.
const PERIOD: Duration = Duration::from_micros(2);

/// See the module's text.
pub struct PollInterval {
    /// Passes left before the rail is idle.
    lively: u32,
    asked: Option<Instant>,
}

impl PollInterval {
    pub fn new() -> Self {
        Self { lively: LIVELY_PASSES, asked: None }
    }

    /// Something was sent, or came.
    #[inline(always)]
    pub fn renew(&mut self) {
        self.lively = LIVELY_PASSES;
    }

    /// Whether a pass asks the system.
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
