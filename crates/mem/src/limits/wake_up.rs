//! The limit of a wake-up: from the call that wakes a process until that process runs.
//!
//! Owns the lines 11 to 13 and the word on which process 1 sleeps.

use super::MachineLimits;
use canele_sys::atomic::Ordering;
use canele_sys::clock::monotonic_ns;
use canele_sys::futex;
use std::time::{Duration, Instant};

/// Line of the signal that process 1 is about to sleep.
const SLEEPS: usize = 11;
/// Line of the signal that process 1 runs.
const RUNS: usize = 12;
/// Line of the time at which process 1 ran, by the clock of all processes.
const RAN_AT: usize = 13;
/// Time that process 0 gives process 1 to fall asleep.
const FALL_ASLEEP: Duration = Duration::from_micros(30);
/// Tries per round, for a process that never sleeps when it is woken, as on a machine of one processor.
const MOST_TRIES: u32 = 100;

impl MachineLimits<'_> {
    /// Returns the mean time in nanoseconds from the call by which process 0 wakes process 1 until process 1
    /// runs. It covers `rounds` wake-ups from real sleeps and is `NaN` if there was none. Only the result of
    /// process 0 is valid.
    pub fn wake_up_ns(&mut self, rounds: u32) -> f64 {
        let (mut slept, mut sum, mut goes_on) = (0, 0, true);
        let mut tries = rounds.saturating_mul(MOST_TRIES);
        while goes_on {
            self.wake_ups += 1;
            if self.me == 0
                && let Some(spent) = self.wake_peer()
            {
                (slept, sum) = (slept + 1, sum + spent);
            } else if self.me == 1 {
                self.sleep_until_woken();
            }
            tries -= 1;
            goes_on = self.agree(u64::from(slept < rounds && tries > 0)) == 1;
        }
        sum as f64 / f64::from(slept)
    }

    /// Returns the time of one wake-up; none if process 1 did not sleep yet.
    fn wake_peer(&self) -> Option<u64> {
        self.await_line(SLEEPS, self.wake_ups);
        let begin = Instant::now();
        while begin.elapsed() < FALL_ASLEEP {}
        let before = monotonic_ns();
        // Pairs with the acquire in `sleep_until_woken`.
        self.wake_word.store(self.wake_ups as u32, Ordering::Release);
        let woken = futex::wake(self.wake_word, 1);
        self.await_line(RUNS, self.wake_ups);
        let ran = self.lines[RAN_AT].0.load(Ordering::Relaxed);
        (woken == 1).then(|| ran.saturating_sub(before))
    }

    fn sleep_until_woken(&self) {
        let expected = self.wake_ups as u32;
        self.set(SLEEPS, self.wake_ups);
        // Pairs with the release in `wake_peer`.
        while self.wake_word.load(Ordering::Acquire) != expected {
            futex::wait(self.wake_word, expected.wrapping_sub(1), None);
        }
        self.lines[RAN_AT].0.store(monotonic_ns(), Ordering::Relaxed);
        self.set(RUNS, self.wake_ups);
    }
}
