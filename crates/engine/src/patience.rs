//! How a wait passes its time when nothing comes: it looks again, gives its processor away, and at last sleeps.
//!
//! With a processor for every rank it looks for about twice the time a wake-up takes; with more ranks than processors
//! looking only keeps the others from running, so it yields at once. The clock is read now and then, and only here: on
//! passes that found nothing.

use std::time::{Duration, Instant};

use canele_sys::tunables::Wait;

/// Idle passes between two looks at the clock.
const PASSES: u32 = 64;

/// What to do after an idle pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    Look,
    Yield,
    Sleep,
}

/// The patience of one wait.
pub(crate) struct Patience {
    wait: Wait,
    spin: Duration,
    yields: u32,
    since: Option<Instant>,
    passes: u32,
    yielded: u32,
}

impl Patience {
    pub fn new(wait: Wait, spin_ns: u64, yields: u32, crowded: bool) -> Self {
        let spin = if crowded { Duration::ZERO } else { Duration::from_nanos(spin_ns) };
        Self { wait, spin, yields, since: None, passes: 0, yielded: 0 }
    }

    /// Something came: the wait starts anew.
    pub fn renew(&mut self) {
        (self.since, self.passes, self.yielded) = (None, 0, 0);
    }

    /// Nothing came.
    #[inline]
    pub fn next(&mut self) -> Next {
        match self.wait {
            Wait::Poll => return Next::Look,
            Wait::Sleep => return Next::Sleep,
            Wait::Adaptive => {}
        }
        if self.yielded > 0 || self.spin.is_zero() || self.spun() {
            self.yielded += 1;
            return if self.yielded <= self.yields { Next::Yield } else { Next::Sleep };
        }
        Next::Look
    }

    fn spun(&mut self) -> bool {
        self.passes += 1;
        if !self.passes.is_multiple_of(PASSES) {
            return false;
        }
        let now = Instant::now();
        now.duration_since(*self.since.get_or_insert(now)) >= self.spin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forced_modes_never_do_anything_else() {
        let mut poll = Patience::new(Wait::Poll, 0, 0, true);
        let mut sleep = Patience::new(Wait::Sleep, u64::MAX, u32::MAX, false);
        for _ in 0..10_000 {
            assert_eq!(poll.next(), Next::Look);
            assert_eq!(sleep.next(), Next::Sleep);
        }
    }

    #[test]
    fn a_crowded_wait_yields_so_often_and_then_sleeps() {
        let mut patience = Patience::new(Wait::Adaptive, u64::MAX, 3, true);
        let steps: Vec<Next> = (0..5).map(|_| patience.next()).collect();
        assert_eq!(steps, [Next::Yield, Next::Yield, Next::Yield, Next::Sleep, Next::Sleep]);
        patience.renew();
        assert_eq!(patience.next(), Next::Yield);
    }
}
