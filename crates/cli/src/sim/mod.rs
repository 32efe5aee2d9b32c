//! `canele sim`: simulated networks.
//!
//! Owns how simulations are asked for and told about, and the driving of many ranks (`scale`). What campaigns simulate, and
//! what is right there, is decided elsewhere.

mod arguments;
mod campaign;
mod scale;

use std::process::ExitCode;

pub use arguments::SimArguments;
use arguments::Sort;

/// Simulates what is asked for.
pub fn main(arguments: &SimArguments) -> ExitCode {
    match &arguments.sort {
        Sort::Campaign(asked) => campaign::main(asked),
        Sort::Scale(asked) => scale::main(asked),
    }
}
