//! How a wait passes its time when nothing comes: it looks again, gives its processor away, and at last sleeps.
//!
//! With a processor for every rank it looks for about twice the time a wake-up takes; with more ranks than processors
//! looking only keeps the others from running, so it yields at once. The clock is read now and then, and only here: on
//! passes that found nothing, and around a yield.
//!
//! A yield among ranks that wait as we do takes microseconds. Where another program computes on the same processor, it
//! takes a whole time slice, and the message that comes meanwhile does not shorten it; a sleeper, on the other hand, is
//! woken and runs at once. So a yield that took long makes this rank wary: for a number of waits it sleeps instead.

use std::time::{Duration, Instant};

use canele_sys::tunables::Wait;

/// Idle passes between two looks at the clock.
const PASSES: u32 = 64;

/// A yield that takes this long gave the processor to somebody who does not wait as we do.
const SLICE: Duration = Duration::from_millis(1);
/// So many waits after it go without a yield.
const WARY: u32 = 256;

/// How this rank waits: its settings, and what it has learnt about its processor.
pub(crate) struct Habits {
    pub wait: Wait,
    /// How long it looks before it gives its processor away.
    pub spin: Duration,
    pub yields: u32,
    /// Ranks share processors.
    pub crowded: bool,
    /// Waits still to go without a yield.
    pub wary: u32,
}

impl Habits {
    /// The patience of the next wait.
    #[inline]
    pub fn patience(&mut self) -> Patience {
        let yields = if self.wary == 0 { self.yields } else { 0 };
        self.wary = self.wary.saturating_sub(1);
        let spin = if self.crowded { Duration::ZERO } else { self.spin };
        Patience::new(self.wait, spin, yields)
    }

    /// A yield took so long.
    pub fn learn(&mut self, patience: &mut Patience, took: Duration) {
        if took >= SLICE {
            self.wary = WARY;
            patience.yields = 0;
        }
    }
}

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
    pub fn new(wait: Wait, spin: Duration, yields: u32) -> Self {
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
        let mut poll = Patience::new(Wait::Poll, Duration::ZERO, 0);
        let mut sleep = Patience::new(Wait::Sleep, Duration::MAX, u32::MAX);
        for _ in 0..10_000 {
            assert_eq!(poll.next(), Next::Look);
            assert_eq!(sleep.next(), Next::Sleep);
        }
    }

    #[test]
    fn a_yield_that_takes_a_time_slice_is_the_last_for_many_waits() {
        let mut habits =
            Habits { wait: Wait::Adaptive, spin: Duration::ZERO, yields: 3, crowded: true, wary: 0 };
        let mut patience = habits.patience();
        assert_eq!(patience.next(), Next::Yield);
        habits.learn(&mut patience, SLICE / 2);
        assert_eq!(patience.next(), Next::Yield);
        habits.learn(&mut patience, SLICE);
        assert_eq!(patience.next(), Next::Sleep);
        patience.renew();
        assert_eq!(patience.next(), Next::Sleep, "this wait has learnt");
        for n in 0..WARY {
            assert_eq!(habits.patience().next(), Next::Sleep, "wait {n} after it");
        }
        assert_eq!(habits.patience().next(), Next::Yield, "it tries again");
    }

    #[test]
    fn a_crowded_wait_yields_so_often_and_then_sleeps() {
        let mut patience = Patience::new(Wait::Adaptive, Duration::ZERO, 3);
        let steps: Vec<Next> = (0..5).map(|_| patience.next()).collect();
        assert_eq!(steps, [Next::Yield, Next::Yield, Next::Yield, Next::Sleep, Next::Sleep]);
        patience.renew();
        assert_eq!(patience.next(), Next::Yield);
    }
}
