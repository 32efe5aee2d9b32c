//! Pictures of the Mandelbrot set, computed by master and workers.
//!
//! The picture is divided into horizontal slices ([`slices`]). Rank 0, the master, distributes them to the
//! other ranks on request and joins the finished ones. A slice near the set takes far longer than one away
//! from it, so requests keep all ranks busy ([`farm`]). A single rank computes alone. A rank may compute in
//! several threads, each with its own requests ([`crew`]).
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

/// Runs the program `mandelbrot`.
pub fn main() -> ExitCode {
    canele_show::program::main("mandelbrot", |arguments: &Arguments, job| {
        run::run(arguments, &farm::Farm::new(job, arguments.threads.map(|threads| threads as usize)))
    })
}
