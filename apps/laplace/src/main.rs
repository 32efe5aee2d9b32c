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
        Err(error) if rank == Rank(0) => complain("laplace", error),
        Err(_) => 0,
    };
    // Also after a mistake of the user: rank 0's status tells of it, and no rank has failed to take part.
    match job.finish() {
        Ok(()) => status.into(),
        Err(error) => failed(rank, &error.into()).into(),
    }
}

/// Says what went wrong; returns the status to exit with. A rank that only follows rank 0, which gave up, says nothing
/// and exits with 0, so that the job does not end before rank 0 has spoken.
fn failed(rank: Rank, error: &LaplaceError) -> u8 {
    match error {
        LaplaceError::GivenUp => return 0,
        LaplaceError::Communication(_) => eprintln!("laplace: {rank}: {error}"),
        _ => eprintln!("laplace: {error}"),
    }
    error.exit_status()
}
