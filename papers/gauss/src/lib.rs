//! Linear systems by Gauss elimination, with a known number of significant digits in the solution.
//!
//! [`eliminate`] is written once, for any number that is [`cestac::Real`]. [`run`](mod@run) chooses the form:
//! one sample on each of three ranks, three samples on one rank, or plain numbers. Matrices ([`matrix`]) are
//! computed or read from a Matrix Market file ([`market`]). Only `run` and `cestac` communicate.
#![forbid(unsafe_code)]

use std::process::ExitCode;

pub mod arguments;
pub mod eliminate;
pub mod error;
pub mod market;
pub mod matrix;
pub mod report;
pub mod run;

pub use arguments::Arguments;
pub use error::GaussError;

/// Runs the program `gauss`.
pub fn main() -> ExitCode {
    canele_show::program::main("gauss", |arguments: &Arguments, job| run::run(arguments, job))
}
