//! Measurement for programs over Canelé's own API, as `measure.h` does it for MPI programs: repetitions, and
//! the format of a figure.
//!
//! A program is called as `program BLOCK_MS QUICK` and prints one line for each figure, on rank 0: `NAME BYTES VALUE UNIT`.

use std::time::Instant;

use canele::{Error, Flow, Job, Op, Rank};
use rustix::process::{getpgid, getpid, getppid, getsid, setpgid, setsid};

/// The most blocks of a figure, which is their median.
const MOST_BLOCKS: usize = 7;
/// Trials that find the number of repetitions for a block; each multiplies it by up to 8.
const MOST_TRIALS: usize = 32;

/// Measures operations that all ranks of a job do together.
pub struct Measure {
    world: Flow,
    block_s: f64,
    /// True for fewer blocks and sizes.
    pub is_quick: bool,
}

impl Measure {
    /// Reads the command line.
    pub fn new(job: &Job) -> Self {
        own_session();
        let word = |nth| std::env::args().nth(nth).and_then(|text| text.parse::<f64>().ok());
        let is_quick = word(2).is_some_and(|quick| quick != 0.0);
        Self { world: job.world(), block_s: word(1).unwrap_or(10.0) / 1e3, is_quick }
    }

    /// Returns nanoseconds of one operation, the median of several blocks; `run` repeats it as often as its
    /// argument says.
    ///
    /// # Errors
    /// Those of `run`, and of the barrier before each block.
    pub fn operation(&self, mut run: impl FnMut(u64) -> Result<(), Error>) -> Result<f64, Error> {
        let (mut best, mut count) = (f64::INFINITY, 1_u64);
        for _ in 0..MOST_TRIALS {
            // An interrupted block is too long, so the shortest one counts.
            best = best.min(self.block(&mut run, count)? / count as f64);
            if count as f64 * best >= 0.8 * self.block_s {
                break;
            }
            let is_far = count as f64 * 8.0 * best < self.block_s;
            count = if is_far { count * 8 } else { (self.block_s / best) as u64 + 1 };
        }
        let seconds = count as f64 * best;
        let blocks = if seconds > 10.0 * self.block_s {
            1
        } else if self.is_quick || seconds > 2.0 * self.block_s {
            3
        } else {
            MOST_BLOCKS
        };
        let mut times = (0..blocks).map(|_| self.block(&mut run, count)).collect::<Result<Vec<_>, _>>()?;
        times.sort_by(f64::total_cmp);
        Ok(times[blocks / 2] / count as f64 * 1e9)
    }

    /// Returns the seconds of one block on the slowest rank.
    fn block(&self, run: &mut impl FnMut(u64) -> Result<(), Error>, count: u64) -> Result<f64, Error> {
        self.world.barrier()?;
        let start = Instant::now();
        run(count)?;
        let mut longest = [0.0];
        self.world.allreduce(&[start.elapsed().as_secs_f64()], &mut longest, Op::Max)?;
        Ok(longest[0])
    }

    /// Prints a figure on rank 0.
    pub fn tell(&self, name: &str, bytes: usize, value: f64, unit: &str) {
        if self.world.rank() == Rank(0) {
            println!("{name} {bytes} {value:.3} {unit}");
        }
    }
}

/// Puts this process into a session of its own, for the reasons in `measure.h`. If that fails, the process
/// goes on in the old one.
fn own_session() {
    if getsid(None).is_ok_and(|session| session == getpid()) || setsid().is_ok() {
        return;
    }
    if let Ok(group) = getpgid(getppid())
        && setpgid(None, Some(group)).is_ok()
    {
        let _ = setsid();
    }
}
