//! Errors of the program, and the party at fault: the user or the job.

use canele_show::PictureError;
use canele_show::program::{Blame, Failure};

/// The error of a run that ended without a picture.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum MandelbrotError {
    #[error(transparent)]
    Picture(#[from] PictureError),
    #[error(
        "more ranks than rows: the job has {ranks}, the picture {rows}; start fewer ranks or give a larger --size"
    )]
    MoreRanksThanRows { ranks: usize, rows: usize },
    #[error(
        "the view is too deep for numbers of 16 digits: its pixels are {step:.1e} apart; give a larger --width or a smaller --size"
    )]
    TooDeep { step: f64 },
    #[error("worker {worker} returned rows {first} to {last}, which it was not asked for")]
    NotAsked { worker: usize, first: usize, last: usize },
    #[error(
        "rank {rank} asked for work as worker {worker}, which is none of its threads: start all ranks with the same --threads"
    )]
    Stranger { worker: usize, rank: usize },
    /// Rank 0 gave up and has reported the error.
    #[error("rank 0 gave up")]
    GivenUp,
    #[error("communication failed: {0}")]
    Communication(#[from] canele::Error),
}

impl Failure for MandelbrotError {
    fn blame(&self) -> Blame {
        match self {
            Self::GivenUp => Blame::Follower,
            Self::Communication(_) => Blame::Rank,
            Self::NotAsked { .. } | Self::Stranger { .. } => Blame::Job,
            _ => Blame::User,
        }
    }
}
