//! Linear systems by Gauss elimination, whose solution says how many of its digits are significant.
//!
//! [`eliminate`] is written once, for any number that is [`cestac::Real`]. [`run`](mod@run) chooses the form: one sample
//! on each of three ranks, three samples on one rank, or plain numbers. Matrices ([`matrix`]) are made here or read from
//! a Matrix Market file ([`market`]). Only `run` and `cestac` communicate.
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

/// The program `gauss`.
pub fn main() -> ExitCode {
    canele_show::program::main("gauss", |arguments: &Arguments, job| run::run(arguments, job))
}
