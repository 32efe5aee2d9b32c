//! Random programs of remote memory access: ranks put, get, accumulate, fetch and replace in memory that others expose, and lock it, any
//! number of accesses at the same time.
//!
//! The reference is what the order of each origin and the atomicity of each element leave open: an origin reads what it has put; words
//! that all add to are the sums; values that were fetched are all different; an operation whose result depends on the order gives that of
//! its origin's; no two ranks hold an exclusive lock at once; locks of the dead are given on; in the end nothing is under way.

mod operations;
mod play;
mod reference;

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::program::Program;
use super::{FailedSeed, Setup, attempt};

/// Runs the program of a seed.
///
/// # Errors
/// What went wrong.
pub fn run(seed: u64, setup: &Setup) -> Result<(), FailedSeed> {
    let mut program = Program::new(seed, setup);
    program.actions.iter_mut().for_each(Vec::clear);
    let played = catch_unwind(AssertUnwindSafe(|| play::RmaPlay::new(&program).run()));
    let Err(what) = played.unwrap_or_else(|panic| Err(attempt::text(&*panic))) else { return Ok(()) };
    Err(FailedSeed { seed, its_failure: what.clone(), what, smallest: attempt::listing(&program) })
}
