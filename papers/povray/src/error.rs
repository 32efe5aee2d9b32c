//! Errors of the program, and the party at fault: the user or the job.

use canele_show::PictureError;
use canele_show::program::{Blame, Failure};

/// The error of a run that ended without a picture. Rows count from 1, as in POV-Ray.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum PovrayError {
    #[error(transparent)]
    Picture(#[from] PictureError),
    #[error("the picture would have {width} x {height} pixels: at most {most} are possible", most = canele_show::picture::MOST_PIXELS)]
    TooLarge { width: u32, height: u32 },
    #[error("cannot read the scene {file}: {cause}")]
    Scene { file: String, cause: std::io::Error },
    #[error("there is no program povray in PATH: install POV-Ray 3.7 (Debian: apt-get install povray)")]
    NoPovray,
    #[error("cannot start POV-Ray: {0}")]
    Start(std::io::Error),
    /// POV-Ray refused the scene or an option; the text is POV-Ray's.
    #[error("{0}")]
    Render(String),
    #[error("rank {rank}: {why}")]
    Worker { rank: usize, why: String },
    #[error("{times} attempts to render {rows} were lost, the last one on rank {rank}: {why}")]
    LostTooOften { rows: String, times: u32, rank: usize, why: String },
    #[error("rank {rank} returned {rows}, which it was not asked for")]
    NotAsked { rank: usize, rows: String },
    #[error("a message without meaning came from rank {rank}")]
    Message { rank: usize },
    #[error("rank 0, the master, is gone")]
    MasterLost,
    #[error("communication failed: {0}")]
    Communication(#[from] canele::Error),
}

impl Failure for PovrayError {
    fn blame(&self) -> Blame {
        match self {
            Self::Communication(_) | Self::MasterLost => Blame::Rank,
            Self::LostTooOften { .. } | Self::NotAsked { .. } | Self::Message { .. } => Blame::Job,
            _ => Blame::User,
        }
    }
}
