//! `canele bench`.

use std::process::ExitCode;

/// Arguments of `canele bench`.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Runs the measurements.
pub fn main(_arguments: Arguments) -> ExitCode {
    crate::wrong_usage("bench is not there yet")
}
