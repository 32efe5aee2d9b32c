//! `dsm`: see `dsm --help`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use canele_dsm::Arguments;
use canele_dsm::program::run;

fn main() -> ExitCode {
    canele_show::program::main("dsm", |arguments: &Arguments, job| run(arguments, job))
}
