//! `laplace`: see `laplace --help`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use canele::{Job, Rank};
use canele_laplace::exchange::Ranks;
use canele_laplace::run::run;
use canele_laplace::{Arguments, LaplaceError};
use canele_show::arguments::complain;
use clap::Parser;

fn main() -> ExitCode {
    let arguments = Arguments::try_parse();
    let job = match Job::start() {
        Ok(job) => job,
        Err(error) => {
            eprintln!("laplace: {error}");
            return ExitCode::FAILURE;
        }
    };
    let rank = job.rank();
    let status = match &arguments {
        Ok(arguments) => match run(arguments, &mut Ranks::new(&job)) {
            Ok(()) => 0,
            Err(error) => failed(rank, &error),
        },
        Err(error) => complain("laplace", error, rank == Rank(0)),
    };
    // Also after a mistake of the user, which is no failure of the ranks.
    match job.finish() {
        Ok(()) => status.into(),
        Err(error) => failed(rank, &error.into()).into(),
    }
}

/// Says what went wrong, unless rank 0 does; returns the status to exit with.
fn failed(rank: Rank, error: &LaplaceError) -> u8 {
    match error {
        LaplaceError::GivenUp => {}
        LaplaceError::Communication(_) => eprintln!("laplace: {rank}: {error}"),
        _ => eprintln!("laplace: {error}"),
    }
    error.exit_status()
}
