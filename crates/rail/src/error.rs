//! Why a packet has no room, a link cannot be believed, or none could be made.

use canele_sys::ids::Rank;

/// No room now; poll, and try again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Busy;

/// Why a link can no longer be believed. The text names what was found and what was expected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Corrupt(pub String);

/// Why a link could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The peer's memory has another layout, or is none of Canelé's.
    #[error("{peer} has an incompatible inbox: {what}")]
    Incompatible {
        /// The peer.
        peer: Rank,
        /// What differs, naming both sides.
        what: String,
    },
    /// Not enough memory, or the system refused it.
    #[error("no room for messages to {peer}: {source}")]
    Memory {
        /// The peer.
        peer: Rank,
        /// What was needed and what there is.
        source: canele_sys::segment::SegmentError,
    },
}
