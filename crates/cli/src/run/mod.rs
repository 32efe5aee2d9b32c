//! `canele run`: reads the command line and lets `canele_launch` run the job.
//!
//! Owns the syntax and the exit statuses of wrong usage; `canele_launch` does the rest.

mod arguments;
mod choices;
mod place;

use std::os::fd::OwnedFd;
use std::process::ExitCode;

pub use arguments::{RunArguments, with_number};
use canele_launch::StartError;
pub use choices::Wait;
pub use place::HostOptions;

use crate::{say, wrong_usage};

/// Runs the job that `arguments` describe, to its end. With `output`, the standard output of its ranks goes
/// there.
pub fn main(arguments: &RunArguments, output: Option<OwnedFd>) -> ExitCode {
    let result = arguments.job(output).map_err(StartError::Description).and_then(canele_launch::run);
    match result {
        Ok(status) => ExitCode::from(status),
        Err(StartError::Description(text)) => wrong_usage(&text),
        Err(error) => {
            say(&error.to_string());
            ExitCode::FAILURE
        }
    }
}
