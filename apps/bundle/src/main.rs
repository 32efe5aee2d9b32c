//! `bundle PROGRAM ARGUMENT…`: each program of `apps/` and `papers/`, in a package that has them in one file.
#![forbid(unsafe_code)]

use std::process::ExitCode;

/// A program with its name.
type Program = (&'static str, fn() -> ExitCode);

const PROGRAMS: [Program; 5] = [
    ("dsm", canele_dsm::main),
    ("gauss", canele_gauss::main),
    ("laplace", canele_laplace::main),
    ("mandelbrot", canele_mandelbrot::main),
    ("povray-farm", canele_povray::main),
];

fn main() -> ExitCode {
    if let Some(status) = canele_povray::child::become_povray() {
        return status;
    }
    let wanted = std::env::args().nth(1).unwrap_or_default();
    match PROGRAMS.iter().find(|(name, _)| *name == wanted) {
        Some((_, program)) => program(),
        None => {
            let names = PROGRAMS.map(|(name, _)| name).join(", ");
            eprintln!("bundle: {wanted:?} is none of the programs {names}");
            ExitCode::from(2)
        }
    }
}
