//! Errors of the program, and the party at fault: the user or the job.

use canele_show::program::{Blame, Failure};

use crate::eliminate::Pivoting;

/// The error of a run that ended without a solution.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum GaussError {
    #[error(
        "the job has {ranks} ranks: start 3 (`canele run -n 3 gauss`) for one sample on each, or 1 for all samples in one \
         process"
    )]
    Ranks { ranks: u32 },
    #[error("cannot read {file}: {error}")]
    Read { file: String, error: std::io::Error },
    #[error("{file}, line {line}: {why}")]
    Market { file: String, line: usize, why: String },
    #[error("cannot write {file}: {error}")]
    Write { file: String, error: std::io::Error },
    #[error("no pivot in step {step} of {size} has a significant digit: {}", .pivoting.advice())]
    Singular { step: usize, size: usize, pivoting: Pivoting },
    #[error(transparent)]
    Session(#[from] cestac::SessionError),
    /// Rank 0 gave up and has reported the error.
    #[error("rank 0 gave up")]
    GivenUp,
    #[error("communication failed: {0}")]
    Communication(#[from] canele::Error),
}

impl Failure for GaussError {
    fn blame(&self) -> Blame {
        match self {
            Self::GivenUp => Blame::Follower,
            Self::Communication(_) => Blame::Rank,
            _ => Blame::User,
        }
    }
}
