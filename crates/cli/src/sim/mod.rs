//! `canele sim`: simulated networks.
//!
//! Owns the options and the output of simulations, and the driver of many ranks (`scale`). The crate
//! `canele_sim` decides which programs campaigns simulate and which results are correct.

mod arguments;
mod campaign;
mod scale;

use std::process::ExitCode;

pub use arguments::SimArguments;
use arguments::Sort;

/// Runs the requested simulation.
pub fn main(arguments: &SimArguments) -> ExitCode {
    match &arguments.sort {
        Sort::Campaign(asked) => campaign::main(asked),
        Sort::Scale(asked) => scale::main(asked),
    }
}
