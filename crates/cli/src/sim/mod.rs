//! `canele sim`: simulated networks.
//!
//! Owns how campaigns are asked for and told about. What is simulated, and what is right, is decided elsewhere.

mod arguments;
mod campaign;

use std::process::ExitCode;

pub use arguments::Arguments;
use arguments::Sort;

/// Simulates what is asked for.
pub fn main(arguments: &Arguments) -> ExitCode {
    match &arguments.sort {
        Sort::Campaign(asked) => campaign::main(asked),
    }
}
