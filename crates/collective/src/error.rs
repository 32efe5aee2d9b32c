//! The errors of collectives.

use canele_proto::request::Failure;
use canele_sys::ids::Rank;

/// The error of every function of this crate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The call names a member that does not exist.
    #[error("there is no {rank} among {size} members (0 to {last})", last = size.saturating_sub(1))]
    NoSuchRank {
        /// The number named.
        rank: Rank,
        /// The number of members.
        size: u32,
    },
    /// A message failed, or a member.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// A list or a message has another length than the call needs.
    #[error("{what}: {given} given, {needed} needed")]
    Lengths {
        /// The list or message.
        what: &'static str,
        /// The number of elements or bytes that were given.
        given: usize,
        /// The number that is needed.
        needed: usize,
    },
}
