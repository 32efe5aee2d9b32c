//! Pictures of the Mandelbrot set, computed by master and workers.
//!
//! The picture is cut into horizontal slices ([`slices`]). Rank 0, the master, hands them out as
//! the other ranks ask for them and puts the finished ones together; a slice near the set takes
//! far longer than one away from it, so asking keeps all ranks busy ([`farm`]). A single rank
//! computes alone. A rank may compute in several threads, each of which asks for itself ([`crew`]).
#![forbid(unsafe_code)]

use std::process::ExitCode;

pub mod arguments;
pub mod crew;
pub mod error;
pub mod escape;
pub mod farm;
pub mod palette;
pub mod report;
pub mod run;
pub mod slices;
pub mod view;

pub use arguments::Arguments;
pub use error::MandelbrotError;

/// The program `mandelbrot`.
pub fn main() -> ExitCode {
    canele_show::program::main("mandelbrot", |arguments: &Arguments, job| {
        run::run(arguments, &farm::Farm::new(job, arguments.threads.map(|threads| threads as usize)))
    })
}
