//! Errors of the program, and the party at fault: the user or the job.

use canele_show::PictureError;
use canele_show::program::{Blame, Failure};

/// The error of a run that ended without a heat map.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum LaplaceError {
    #[error(transparent)]
    Picture(#[from] PictureError),
    #[error(
        "no pixel of {plate} is fixed, so nothing heats or cools the plate: paint some pixels red (hot) or blue (cold)"
    )]
    NothingFixed { plate: String },
    #[error(
        "more ranks than rows: the job has {ranks}, the plate {rows}; start fewer ranks or give a larger picture"
    )]
    MoreRanksThanRows { ranks: usize, rows: usize },
    #[error(
        "more computing threads than rows: {ranks} ranks of {threads} threads each, and a plate of {rows} rows; start fewer of them or give a \
         larger picture"
    )]
    MoreThreadsThanRows { ranks: usize, threads: usize, rows: usize },
    #[error("{file} is the plate itself: choose another file with --output")]
    WouldOverwritePlate { file: String },
    /// Rank 0, or another thread of this rank, gave up and has reported the error.
    #[error("rank 0 or another thread gave up")]
    GivenUp,
    #[error("communication failed: {0}")]
    Communication(#[from] canele::Error),
}

impl Failure for LaplaceError {
    fn blame(&self) -> Blame {
        match self {
            Self::GivenUp => Blame::Follower,
            Self::Communication(_) => Blame::Rank,
            _ => Blame::User,
        }
    }
}
