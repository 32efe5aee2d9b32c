//! Whether the other side lives. Owns the rhythm: when to send a beat, and how many of one's own may pass in silence.
//!
//! Silence is counted in one's own beats, not in time: while this process was stopped, or its machine asleep, the other's
//! beats arrived all the same and are read before the next one is counted.

use std::time::{Duration, Instant};

/// Beats in silence after which the other side is given up.
const MOST: u32 = 8;

/// One side's view of the other.
#[derive(Debug)]
pub struct Pulse {
    every: Duration,
    next: Instant,
    silent: u32,
    paused: bool,
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

impl Pulse {
    /// Gives the other side up after about `silence`.
    pub fn new(silence: Duration, now: Instant) -> Pulse {
        let every = silence / MOST;
        Pulse { every, next: now + every, silent: 0, paused: false }
    }

    /// Something was heard.
    pub fn hear(&mut self) {
        self.silent = 0;
        self.paused = false;
    }

    /// The other side will be silent, for however long, until it is heard again.
    pub fn pause(&mut self) {
        self.paused = true;
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
        self.silent += u32::from(!self.paused);
        if self.silent > MOST { Beat::Lost } else { Beat::Due }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_lost_after_eight_beats_and_a_word_in_time_saves() {
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        let mut pulse = Pulse::new(8 * second, start);
        assert_eq!(pulse.look(start), Beat::NotYet);
        for beat in 1..=8 {
            assert_eq!(pulse.look(start + beat * second), Beat::Due);
        }
        pulse.hear();
        for beat in 9..=16 {
            assert_eq!(pulse.look(start + beat * second), Beat::Due);
        }
        assert_eq!(pulse.look(start + 17 * second), Beat::Lost);
    }

    #[test]
    fn having_been_stopped_for_long_is_one_beat() {
        let start = Instant::now();
        let mut pulse = Pulse::new(Duration::from_secs(8), start);
        assert_eq!(pulse.look(start + Duration::from_secs(1000)), Beat::Due);
        assert_eq!(pulse.look(start + Duration::from_secs(1000)), Beat::NotYet);
    }
}
