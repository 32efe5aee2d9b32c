//! Whether the other side lives. Owns the rhythm: when to send a beat, and how many of one's own may pass in silence.
//!
//! Silence is counted in one's own beats, not in time: while this process was stopped, or its machine asleep, the other's
//! beats arrived all the same and are read before the next one is counted.

use std::time::{Duration, Instant};

/// Beats in silence after which the other side is given up.
const MOST: u32 = 8;

/// One side's view of the other.
#[derive(Debug)]
pub struct Heartbeat {
    every: Duration,
    next: Instant,
    silent: u32,
}

/// What a look came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beat {
    /// It is not time.
    NotYet,
    /// Send one.
    Due,
    /// The other side has been silent for too long.
    Lost,
}

impl Heartbeat {
    /// Gives the other side up after about `silence`.
    pub fn new(silence: Duration, now: Instant) -> Heartbeat {
        let every = silence / MOST;
        Heartbeat { every, next: now + every, silent: 0 }
    }

    /// Something was heard.
    pub fn hear(&mut self) {
        self.silent = 0;
    }

    /// How often it is looked.
    pub fn every(&self) -> Duration {
        self.every
    }

    /// When to look next.
    pub fn deadline(&self) -> Instant {
        self.next
    }

    /// Looks whether it is time.
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
