//! Why a collective fails.

use canele_proto::request::Failure;
use canele_sys::ids::Rank;

/// The error of every function of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The call names a member that there is not.
    #[error("there is no {rank} among {size} members (0 to {last})", last = size.saturating_sub(1))]
    NoSuchRank {
        /// The number named.
        rank: Rank,
        /// How many members there are.
        size: u32,
    },
    /// A message failed, or a member.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// A list or a message has another length than the call needs.
    #[error("{what}: {given} given, {needed} needed")]
    Lengths {
        /// Of what.
        what: &'static str,
        /// How many elements or bytes there are.
        given: usize,
        /// How many there must be.
        needed: usize,
    },
}
