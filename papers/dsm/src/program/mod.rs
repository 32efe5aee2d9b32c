//! The program `dsm`: a demonstration that is checked against a serial reference, and the experiment of page requests.

mod figures;
mod report;
mod requests;
mod transpose;

use canele::{Job, Rank};
use canele_show::program::{Blame, Failure};

use crate::arguments::{Arguments, Experiment};
use crate::error::DsmError;

/// Runs the program on this rank. Rank 0 reports.
///
/// # Errors
/// If all ranks find the same mistake, rank 0 reports it and the others get [`DsmError::GivenUp`].
pub fn run(arguments: &Arguments, job: &Job) -> Result<(), DsmError> {
    let result = match &arguments.experiment {
        None => report::run(&arguments.demonstration, job),
        Some(Experiment::Requests(requests)) => requests::run(requests, job),
    };
    match result {
        Err(error) if job.rank() != Rank(0) && error.blame() == Blame::User => Err(DsmError::GivenUp),
        result => result,
    }
}
