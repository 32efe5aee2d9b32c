//! Campaigns: random programs on simulated ranks that run the real protocol code, held against a reference.
//!
//! A seed gives a [`Setup`]'s program: what each rank asks for, on which networks, with which faults. The run is checked at
//! every step: whatever arrives does so once and in the order of its flow, goes to the receive that the reference names and
//! with the bytes that were sent; no credit appears from nowhere; in the end everything has ended and nothing is held. In every fourth
//! program ranks have observers, which must be told of exactly these messages as sent, withdrawn and matched.
//!
//! ```text
//!   seed ─▶ program ─▶ play ─▶ net (Proto, SimRail, World)
//!                       │  ◀── arrivals, outcomes ──┘
//!                   reference: who must get what; observed: what observers are told
//! ```

mod attempt;
mod memory;
mod net;
mod observed;
mod play;
mod program;
mod reference;
mod rma;
mod under;
mod watch;

use crate::world::Model;

pub use net::Net;
use program::Program;
pub use under::Packets;
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
    /// What ranks do.
    pub programs: Programs,
}

/// What the ranks of a program do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Programs {
    /// They send and receive messages.
    #[default]
    Messages,
    /// They access memory of each other.
    Rma,
}

/// What goes wrong in a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// A rank dies.
    pub deaths: bool,
    /// Connections are lost.
    pub losses: bool,
    /// Packets are lost, doubled, held back and corrupted below a rail that mends it. No rank dies then.
    pub packets: bool,
}

/// A seed that fails.
#[derive(Clone, Debug, thiserror::Error)]
#[error("seed {seed}: {what}\nsmallest program found that fails: {its_failure}\n{smallest}")]
pub struct FailedSeed {
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
pub fn run(seed: u64, setup: &Setup) -> Result<(), FailedSeed> {
    if setup.programs == Programs::Rma {
        return rma::run(seed, setup);
    }
    let program = Program::new(seed, setup);
    let Err(what) = attempt::attempt(&program) else { return Ok(()) };
    let (smallest, its_failure) = attempt::shrink(program, what.clone());
    Err(FailedSeed { seed, what, its_failure, smallest: attempt::listing(&smallest) })
}

#[cfg(test)]
mod tests {
    use crate::fault::Rates;

    use super::*;

    /// How many of some seeds are well when packets go wrong so often and no layer repairs it.
    fn well(rates: Rates) -> usize {
        let setup = Setup::default();
        let unmended = |seed| Program { packets: Packets::Unmended(rates), ..Program::new(seed, &setup) };
        (0..40).filter(|seed| attempt::attempt(&unmended(*seed)).is_ok()).count()
    }

    #[test]
    fn a_campaign_notices_faults_that_no_layer_repairs() {
        let window = 4;
        assert_eq!(well(Rates { window, ..Rates::default() }), 40);
        for rates in [
            Rates { drop: 20, window, ..Rates::default() },
            Rates { double: 20, window, ..Rates::default() },
            Rates { corrupt: 20, window, ..Rates::default() },
        ] {
            assert!(well(rates) < 15, "{rates:?}");
        }
    }

    #[test]
    fn accesses_to_memory_are_what_their_order_and_atomicity_allow() {
        let count = std::env::var("PROTO_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(60);
        for (deaths, losses, packets) in [
            (false, false, false),
            (true, false, false),
            (false, true, false),
            (true, true, false),
            (false, true, true),
        ] {
            let faults = Faults { deaths, losses, packets };
            let setup = Setup { faults, programs: Programs::Rma, ..Setup::default() };
            for seed in 0..count {
                if let Err(failure) = run(seed, &setup) {
                    panic!("{faults:?}, {failure}");
                }
            }
        }
    }

    #[test]
    fn mended_rails_carry_every_program() {
        let faults = Faults { packets: true, ..Faults::default() };
        for (seed, losses) in (0..100).flat_map(|seed| [(seed, false), (seed, true)]) {
            let setup = Setup { faults: Faults { losses, ..faults }, ..Setup::default() };
            if let Err(failure) = run(seed, &setup) {
                panic!("losses: {losses}, {failure}");
            }
        }
    }
}
