//! `povray-farm`: see `povray-farm --help`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use canele_povray::run::run;
use canele_povray::{Arguments, child};

fn main() -> ExitCode {
    match child::become_povray() {
        Some(status) => status,
        None => canele_show::program::main("povray-farm", |arguments: &Arguments, job| run(arguments, job)),
    }
}
