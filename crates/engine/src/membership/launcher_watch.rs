//! The watch over the launcher by a rank that waits.
//!
//! A launcher that ends also ends its ranks. One that is killed together with the supervisor of the ranks
//! cannot. So each rank reads its control socket now and then while it waits or polls in vain, and ends when
//! the other end is closed. It does not read while anything moves.

use std::time::{Duration, Instant};

/// The interval at which a rank that waits reads its control socket; no sleep is longer.
pub(crate) const INTERVAL: Duration = Duration::from_secs(1);
/// Idle passes between two looks at the clock. A look costs as much as one pass. A program that polls once in
/// a few milliseconds must not take minutes for so many.
const PASSES: u32 = 256;

/// The time at which the control socket is read next.
pub(crate) struct LauncherWatch {
    idle_passes: u32,
    last_read: Instant,
}

impl LauncherWatch {
    /// Makes the watch of a rank that starts `now`.
    pub fn new(now: Instant) -> Self {
        Self { idle_passes: 0, last_read: now }
    }

    /// Counts an idle pass; returns true if the clock is to be read after this one.
    #[inline]
    pub fn is_clock_due(&mut self) -> bool {
        self.idle_passes = self.idle_passes.wrapping_add(1);
        self.idle_passes.is_multiple_of(PASSES)
    }

    /// Returns true if the control socket is to be read `now`; then it counts as read.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let due = now.saturating_duration_since(self.last_read) >= INTERVAL;
        if due {
            self.last_read = now;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_socket_is_read_once_in_each_interval() {
        let start = Instant::now();
        let mut watch = LauncherWatch::new(start);
        assert!(!watch.is_due(start + INTERVAL - Duration::from_nanos(1)));
        assert!(watch.is_due(start + INTERVAL));
        assert!(!watch.is_due(start + INTERVAL));
        assert!(watch.is_due(start + 3 * INTERVAL));
    }

    #[test]
    fn the_clock_is_read_on_few_idle_passes() {
        let mut watch = LauncherWatch::new(Instant::now());
        let reads = (0..3 * PASSES).filter(|_| watch.is_clock_due()).count();
        assert_eq!(reads, 3);
    }
}
