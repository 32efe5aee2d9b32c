//! Why a packet has no room, a link cannot be believed, or none could be made.

use std::io;

use canele_sys::ids::Rank;
use canele_sys::segment::SegmentError;
use canele_sys::sleep::EventError;
use rustix::io::Errno;

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
        source: SegmentError,
    },
}

/// Why a rank's rails could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// An address of this host cannot be listened on.
    #[error("no connections can be accepted on {address}: {source}")]
    Address {
        /// The address.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// The system gives no descriptor to wait with.
    #[error("no descriptor to wait for connections with: {0}")]
    Descriptor(#[from] Errno),
    /// There is no memory for packets from ranks of this host.
    #[error(transparent)]
    Memory(#[from] SegmentError),
    /// There is nothing to sleep on.
    #[error(transparent)]
    Event(#[from] EventError),
}
