//! The temperature of a plate: red–black Gauss–Seidel for the Laplace equation, on any number of ranks.
//!
//! The plate is painted: see [`plate`] for what a pixel says. It is cut into blocks ([`layout`]),
//! one for each computing thread of each rank; a thread updates its [`block`] and swaps edges with its neighbours after each
//! half sweep ([`solve`](mod@solve)). All communication goes through [`team::Team`]: in the program the
//! threads of all ranks of a job ([`exchange`], and [`local`] within a rank), in tests bare threads. The result is the same to
//! the last bit.
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

/// The program `laplace`.
pub fn main() -> ExitCode {
    canele_show::program::main("laplace", |arguments: &Arguments, job| run::run(arguments, job))
}
