//! `laplace`: see `laplace --help`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use canele_laplace::team::Alone;
use canele_laplace::{Arguments, LaplaceError, run::run};
use clap::Parser;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return canele_show::arguments::complain("laplace", &error, true).into(),
    };
    match run(&arguments, &mut Alone) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !matches!(error, LaplaceError::GivenUp) {
                eprintln!("laplace: {error}");
            }
            error.exit_status().into()
        }
    }
}
