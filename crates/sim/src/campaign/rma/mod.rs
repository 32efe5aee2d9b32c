//! Random programs of remote memory access. Ranks put, get, accumulate, fetch and replace in memory that
//! others expose, and lock it, with any number of accesses at the same time.
//!
//! The reference is what the order of each origin and the atomicity of each element determine:
//!
//! - An origin reads the bytes that it has put.
//! - A word that all ranks add to is their sum, and all fetched values are different.
//! - An operation whose result depends on the order gives the result of its origin's order.
//! - No two ranks hold an exclusive lock at once, and locks of the dead pass on.
//! - In the end nothing is under way.

mod operations;
mod play;
mod reference;

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::program::Program;
use super::{FailedSeed, Setup, attempt};

/// Runs the program of a seed.
///
/// # Errors
/// Fails if a check of the program fails.
pub fn run(seed: u64, setup: &Setup) -> Result<(), FailedSeed> {
    let mut program = Program::new(seed, setup);
    program.actions.iter_mut().for_each(Vec::clear);
    let played = catch_unwind(AssertUnwindSafe(|| play::RmaPlay::new(&program).run()));
    let Err(what) = played.unwrap_or_else(|panic| Err(attempt::text(&*panic))) else { return Ok(()) };
    Err(FailedSeed { seed, its_failure: what.clone(), what, smallest: attempt::listing(&program) })
}
