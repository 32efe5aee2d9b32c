//! `gauss`: see `gauss --help`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use canele_gauss::Arguments;
use canele_gauss::run::run;

fn main() -> ExitCode {
    canele_show::program::main("gauss", |arguments: &Arguments, job| run(arguments, job))
}
