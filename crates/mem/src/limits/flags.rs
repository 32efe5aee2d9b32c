//! The limit of a barrier with more processes than processors: central flags, and waiting ranks that yield
//! the processor. Owns the lines from 16 on, one per process.

use super::{MachineLimits, OWN_LINES};
use std::time::Instant;

impl MachineLimits<'_> {
    /// Returns the time of one barrier of all processes in nanoseconds, over `rounds` barriers.
    pub fn flags_ns(&mut self, rounds: u32) -> f64 {
        let begin = Instant::now();
        for _ in 0..rounds {
            self.barriers += 1;
            if self.me == 0 {
                for rank in 1..self.shape.ranks as usize {
                    self.yield_until(OWN_LINES + rank, self.barriers);
                }
                self.set(OWN_LINES, self.barriers);
            } else {
                self.set(OWN_LINES + self.me, self.barriers);
                self.yield_until(OWN_LINES, self.barriers);
            }
        }
        begin.elapsed().as_nanos() as f64 / f64::from(rounds)
    }
}
