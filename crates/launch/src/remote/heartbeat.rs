//! Detection of a dead peer. Owns the times of beats, and the number of this side's beats that may pass in
//! silence.
//!
//! Silence is counted in this side's beats, not in time. While this process is stopped, or its machine
//! asleep, the other side's beats still arrive. They are read before the next beat is counted.

use std::time::{Duration, Instant};

/// The number of beats in silence after which the other side is given up.
const MOST: u32 = 8;

/// One side's view of the other.
#[derive(Debug)]
pub struct Heartbeat {
    every: Duration,
    next: Instant,
    silent: u32,
}

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beat {
    /// No beat is due yet.
    NotYet,
    /// A beat must be sent.
    Due,
    /// The other side has been silent for too long.
    Lost,
}

impl Heartbeat {
    /// Returns a heartbeat that gives the other side up after about `silence`.
    pub fn new(silence: Duration, now: Instant) -> Heartbeat {
        let every = silence / MOST;
        Heartbeat { every, next: now + every, silent: 0 }
    }

    /// Notes that data of the other side has come.
    pub fn hear(&mut self) {
        self.silent = 0;
    }

    /// Returns the interval of checks.
    pub fn every(&self) -> Duration {
        self.every
    }

    /// Returns the time of the next check.
    pub fn deadline(&self) -> Instant {
        self.next
    }

    /// Checks if it is time for a beat.
    pub fn look(&mut self, now: Instant) -> Beat {
        if now < self.next {
            return Beat::NotYet;
        }
        self.next = now + self.every;
        self.silent += 1;
        if self.silent > MOST { Beat::Lost } else { Beat::Due }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_lost_after_eight_beats_and_a_word_in_time_saves() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut heartbeat = Heartbeat::new(8 * second, start);
        assert_eq!(heartbeat.look(start), Beat::NotYet);
        for beat in 1..=8 {
            assert_eq!(heartbeat.look(start + beat * second), Beat::Due);
        }
        heartbeat.hear();
        for beat in 9..=16 {
            assert_eq!(heartbeat.look(start + beat * second), Beat::Due);
        }
        assert_eq!(heartbeat.look(start + 17 * second), Beat::Lost);
    }

    #[test]
    fn having_been_stopped_for_long_is_one_beat() {
        let start = Instant::now();
        let mut heartbeat = Heartbeat::new(Duration::from_secs(8), start);
        assert_eq!(heartbeat.look(start + Duration::from_secs(1000)), Beat::Due);
        assert_eq!(heartbeat.look(start + Duration::from_secs(1000)), Beat::NotYet);
    }
}
