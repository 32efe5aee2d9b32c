//! `mandelbrot`: see `mandelbrot --help`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use canele::{Job, Rank};
use canele_mandelbrot::farm::Farm;
use canele_mandelbrot::run::run;
use canele_mandelbrot::{Arguments, MandelbrotError};
use canele_show::arguments::complain;
use clap::Parser;

fn main() -> ExitCode {
    let arguments = Arguments::try_parse();
    let job = match Job::start() {
        Ok(job) => job,
        Err(error) => {
            eprintln!("mandelbrot: {error}");
            return ExitCode::FAILURE;
        }
    };
    let rank = job.rank();
    let status = match &arguments {
        Ok(arguments) => match run(arguments, &Farm::new(&job)) {
            Ok(()) => 0,
            Err(error) => failed(rank, &error),
        },
        Err(error) => complain("mandelbrot", error, rank == Rank(0)),
    };
    // Also after a mistake of the user, which is no failure of the ranks.
    match job.finish() {
        Ok(()) => status.into(),
        Err(error) => failed(rank, &error.into()).into(),
    }
}

/// Says what went wrong, unless rank 0 does; returns the status to exit with.
fn failed(rank: Rank, error: &MandelbrotError) -> u8 {
    match error {
        MandelbrotError::GivenUp => {}
        MandelbrotError::Communication(_) => eprintln!("mandelbrot: {rank}: {error}"),
        _ => eprintln!("mandelbrot: {error}"),
    }
    error.exit_status()
}
