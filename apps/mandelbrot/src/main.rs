//! `mandelbrot`: see `mandelbrot --help`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use canele_mandelbrot::run::{Alone, run};
use canele_mandelbrot::{Arguments, MandelbrotError};
use clap::Parser;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return canele_show::arguments::complain("mandelbrot", &error, true).into(),
    };
    match run(&arguments, &mut Alone) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !matches!(error, MandelbrotError::GivenUp) {
                eprintln!("mandelbrot: {error}");
            }
            error.exit_status().into()
        }
    }
}
