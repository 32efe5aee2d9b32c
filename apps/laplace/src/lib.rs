//! The temperature of a plate: red–black Gauss–Seidel for the Laplace equation, on any number of ranks.
//!
//! The plate is painted: [`plate`] explains the colours. It is divided into blocks ([`layout`]), one for each
//! computing thread of each rank. A thread updates its [`block`] and swaps edges with its neighbours after
//! each half sweep ([`solve`](mod@solve)). All communication goes through [`team::Team`]. In the program its
//! members are the threads of all ranks ([`exchange`], and [`local`] within a rank), in tests plain threads.
//! The result is the same to the last bit.
#![forbid(unsafe_code)]

use std::process::ExitCode;

pub mod arguments;
pub mod block;
pub mod deal;
pub mod error;
pub mod exchange;
pub mod heat;
pub mod layout;
pub mod local;
pub mod plate;
pub mod report;
pub mod run;
pub mod solve;
pub mod team;

pub use arguments::Arguments;
pub use error::LaplaceError;

/// Runs the program `laplace`.
pub fn main() -> ExitCode {
    canele_show::program::main("laplace", |arguments: &Arguments, job| run::run(arguments, job))
}
