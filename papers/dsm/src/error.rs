//! Errors of the program, the party at fault, and the remedy.

use canele::Rank;
use canele_show::program::{Blame, Failure};

/// The error of an operation on shared memory, or of a run of the program.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the texts say it")]
pub enum DsmError {
    #[error(
        "{servers} page servers in a job of {ranks} ranks leave no client: start more ranks (`canele run -n`), or take fewer \
         servers, at least 1"
    )]
    Servers { servers: u32, ranks: u32 },
    #[error("a page of {bytes} bytes: take a multiple of 8 from 8 to {most}")]
    PageBytes { bytes: usize, most: usize },
    #[error("an address space of {pages} pages: take 1 to {most}")]
    Pages { pages: u32, most: u32 },
    #[error("the ranks have different settings ({what}; here {own}): give all ranks the same")]
    Disagreement { what: &'static str, own: u64 },
    #[error("there is no page {page}: pages are numbered from 0 to {}", .pages.saturating_sub(1))]
    PageOutOfRange { page: u32, pages: u32 },
    #[error("the mapping has no page {page}: its pages are numbered from 0 to {}", .pages.saturating_sub(1))]
    PageOutOfMapping { page: u32, pages: u32 },
    #[error("pages {first} to {end} (exclusive) cannot be mapped: the address space has {pages} pages")]
    RangeOutOfSpace { first: u32, end: u32, pages: u32 },
    #[error(
        "items of {item} bytes, aligned to {align}, do not divide a page of {page} bytes: take another type or page size"
    )]
    Items { item: usize, align: usize, page: usize },
    #[error("no server has page {page}: all {servers} were asked (rank 0 to {})", .servers.saturating_sub(1))]
    NotFound { page: u32, servers: u32 },
    #[error(
        "page {page} is held for writing by {holder}, and waiting for it while holding page {held} could wait for ever: write pages \
         in ascending order, or write back what is held first"
    )]
    Held { page: u32, holder: Rank, held: u32 },
    #[error("page {page} is not held for writing: call write before write_back")]
    NotHeld { page: u32 },
    #[error(
        "{from} sent what the protocol of pages does not allow: {what}; do all ranks run the same program?"
    )]
    Protocol { from: Rank, what: String },
    #[error(
        "the job has {ranks} ranks: the experiment needs 2, a page server and a client (`canele run -n 2 dsm requests`)"
    )]
    NotTwo { ranks: u32 },
    #[error("page {page} is not as it was written: word {word} is {found:#x} instead of {expected:#x}")]
    Changed { page: u32, word: usize, found: u64, expected: u64 },
    #[error("{wrong} of {checked} words differ from those of the serial reference")]
    Wrong { wrong: u64, checked: u64 },
    /// Rank 0 gave up and has reported the error.
    #[error("rank 0 gave up")]
    GivenUp,
    #[error("communication failed: {0}")]
    Communication(#[from] canele::Error),
}

impl Failure for DsmError {
    fn blame(&self) -> Blame {
        match self {
            Self::GivenUp => Blame::Follower,
            Self::Wrong { .. } => Blame::Job,
            Self::Servers { .. }
            | Self::PageBytes { .. }
            | Self::Pages { .. }
            | Self::Disagreement { .. }
            | Self::NotTwo { .. } => Blame::User,
            _ => Blame::Rank,
        }
    }
}
