//! Campaigns: random programs on simulated ranks that run the real protocol code, checked against a
//! reference.
//!
//! A seed gives a [`Setup`]'s program: the operations of each rank, the networks and the faults. The run is
//! checked at every step. Each message must arrive once, in the order of its flow. It must reach the receive
//! that the reference names, with the bytes that were sent. A sender must never have credit that no receiver
//! gave. At the end every operation must have ended, and no resource may be held. In every fourth program
//! ranks have observers. They must see exactly the messages of the program as sent, withdrawn and matched.
//!
//! ```text
//!   seed ─▶ program ─▶ play ─▶ net (Proto, SimRail, World)
//!                       │  ◀── arrivals, outcomes ──┘
//!                   reference: the receive of each message; observed: the events of observers
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

/// The properties of a campaign's programs, except for their seeds.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// One network for each rail; if there is none, the seed chooses.
    pub networks: Vec<Model>,
    /// The number of ranks, at least 2; if `None`, the seed chooses.
    pub ranks: Option<usize>,
    /// The name of a built-in strategy; if `None`, the seed chooses.
    pub strategy: Option<String>,
    /// The faults of a program.
    pub faults: Faults,
    /// The operations of ranks.
    pub programs: Programs,
}

/// The operations of a program's ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Programs {
    /// Ranks send and receive messages.
    #[default]
    Messages,
    /// Ranks access memory of each other.
    Rma,
}

/// The faults of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Faults {
    /// A rank dies.
    pub deaths: bool,
    /// Connections are lost.
    pub losses: bool,
    /// Packets are lost, doubled, held back and corrupted below a rail that repairs this. No rank dies then.
    pub packets: bool,
}

/// A seed that fails.
#[derive(Clone, Debug, thiserror::Error)]
#[error("seed {seed}: {what}\nsmallest program found that fails: {its_failure}\n{smallest}")]
pub struct FailedSeed {
    /// The seed.
    pub seed: u64,
    /// The error of its program.
    pub what: String,
    /// The error of the smallest program found.
    pub its_failure: String,
    /// The smallest program found that fails, in words.
    pub smallest: String,
}

/// Runs the program of a seed.
///
/// # Errors
/// Fails if a check of the program fails.
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

    /// Returns the number of seeds that pass if packets go wrong at these rates and no layer repairs it.
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
