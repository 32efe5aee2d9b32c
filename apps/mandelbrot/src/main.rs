//! `mandelbrot`: see `mandelbrot --help`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use canele_mandelbrot::Arguments;
use canele_mandelbrot::farm::Farm;
use canele_mandelbrot::run::run;

fn main() -> ExitCode {
    canele_show::program::main("mandelbrot", |arguments: &Arguments, job| {
        run(arguments, &Farm::new(job, arguments.threads.map(|threads| threads as usize)))
    })
}
