//! What can go wrong, and whether the user or the job is at fault.

use canele_show::program::Failure;

use crate::eliminate::Pivoting;

/// Why a run ended without a solution.
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
    /// Rank 0 gave up and has said why.
    #[error("rank 0 gave up")]
    GivenUp,
    #[error("communication failed: {0}")]
    Communication(#[from] canele::Error),
}

impl Failure for GaussError {
    fn exit_status(&self) -> u8 {
        match self {
            Self::GivenUp => 0,
            Self::Communication(_) => 1,
            _ => 2,
        }
    }

    fn is_of_one_rank(&self) -> bool {
        matches!(self, Self::Communication(_))
    }
}
