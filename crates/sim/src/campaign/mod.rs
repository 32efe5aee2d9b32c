//! Campaigns: random programs on simulated ranks that run the real protocol code, held against a reference.
//!
//! A seed gives a [`Setup`]'s program: what each rank asks for, on which networks, with which faults. The run is checked at
//! every step: whatever arrives does so once and in the order of its flow, goes to the receive that the reference names and
//! with the bytes that were sent; no credit appears from nowhere; in the end everything has ended and nothing is held.
//!
//! ```text
//!   seed ─▶ program ─▶ play ─▶ net (Proto, SimRail, World)
//!                       │  ◀── arrivals, outcomes ──┘
//!                   reference: who must get what
//! ```

mod attempt;
mod memory;
mod net;
mod play;
mod program;
mod reference;
mod watch;

use canele_rail::sim::Model;

pub use net::Net;
use program::Program;
pub use watch::Watched;

/// What the programs of a campaign are like, their seeds aside.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// A rail each; none: the seed chooses.
    pub networks: Vec<Model>,
    /// How many ranks there are, at least 2; none: the seed chooses.
    pub ranks: Option<usize>,
    /// The name of a built-in strategy; none: the seed chooses.
    pub strategy: Option<String>,
    /// What goes wrong.
    pub faults: Faults,
}

/// What goes wrong in a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// A rank dies.
    pub deaths: bool,
    /// Connections are lost.
    pub losses: bool,
}

/// A seed that fails.
#[derive(Clone, Debug, thiserror::Error)]
#[error("seed {seed}: {what}\nsmallest program found that fails: {its_failure}\n{smallest}")]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// What went wrong.
    pub what: String,
    /// What goes wrong in the smallest program found.
    pub its_failure: String,
    /// That program.
    pub smallest: String,
}

/// Runs the program of a seed.
///
/// # Errors
/// What went wrong.
pub fn run(seed: u64, setup: &Setup) -> Result<(), Failure> {
    let program = Program::new(seed, setup);
    let Err(what) = attempt::attempt(&program) else { return Ok(()) };
    let (smallest, its_failure) = attempt::shrink(program, what.clone());
    Err(Failure { seed, what, its_failure, smallest: attempt::listing(&smallest) })
}
