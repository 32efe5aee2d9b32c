//! Errors of rails: a packet without room, a peer with invalid data, a link or rail that cannot be opened.

use std::io;

use canele_sys::ids::Rank;
use canele_sys::segment::SegmentError;
use canele_sys::sleep::EventError;
use rustix::io::Errno;

/// The error of a claim without room: poll, and try again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Busy;

/// The error of a link whose data is invalid. The text names the value found and the value expected.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Corrupt(pub String);

/// The error of a failed attempt to make a link.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The peer's memory has another layout or is not Canelé's.
    #[error("{peer} has an incompatible inbox: {what}")]
    Incompatible {
        /// The peer.
        peer: Rank,
        /// The difference, naming both sides.
        what: String,
    },
    /// There is not enough memory, or the system refused it.
    #[error("no room for messages to {peer}: {source}")]
    Memory {
        /// The peer.
        peer: Rank,
        /// The memory that was needed and the memory available.
        source: SegmentError,
    },
}

/// The error of a rank whose rails cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The rank cannot listen on an address of this host.
    #[error("no connections can be accepted on {address}: {source}")]
    Address {
        /// The address.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// The system refuses a descriptor to wait with.
    #[error("no descriptor to wait for connections with: {0}")]
    Descriptor(#[from] Errno),
    /// There is no memory for packets from ranks of this host.
    #[error(transparent)]
    Memory(#[from] SegmentError),
    /// The system refuses an event to sleep on.
    #[error(transparent)]
    Event(#[from] EventError),
}
