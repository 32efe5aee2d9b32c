//! `laplace`: see `laplace --help`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use canele_laplace::Arguments;
use canele_laplace::run::run;

fn main() -> ExitCode {
    canele_show::program::main("laplace", |arguments: &Arguments, job| run(arguments, job))
}
