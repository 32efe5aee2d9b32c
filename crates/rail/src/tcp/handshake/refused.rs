//! Errors of a handshake.

use canele_sys::ids::Rank;

/// The error of a handshake that made no connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The other end speaks another protocol.
    #[error("what answers there is none of Canelé's")]
    Magic,
    /// The ends have different versions of Canelé.
    #[error("it speaks version {theirs} of the protocol, this program version {ours}")]
    Version {
        /// The version of this program.
        ours: u16,
        /// The version of the other end.
        theirs: u16,
    },
    /// The other end lacks the job's key, or a third party changed or repeated its messages.
    #[error("it did not prove that it has the job's key")]
    Proof,
    /// The other end has the key and belongs to another job.
    #[error("it belongs to job {theirs:#x}, this program to job {ours:#x}")]
    Job {
        /// The job of this program.
        ours: u64,
        /// The job of the other end.
        theirs: u64,
    },
    /// The other end is, or wants to reach, another rank.
    #[error("{theirs} is there instead of {expected}")]
    Rank {
        /// The expected rank.
        expected: Rank,
        /// The rank that the other end named.
        theirs: Rank,
    },
    /// The ends have rails of different numbers.
    #[error("its rail {theirs} is there, not a rail {ours}")]
    Rail {
        /// The number of this rail.
        ours: u8,
        /// The number of the other rail.
        theirs: u8,
    },
    /// The rank named by the other end does not exist.
    #[error("it says to be {theirs} of {ranks} ranks")]
    NoSuchRank {
        /// The rank that the other end named.
        theirs: Rank,
        /// Number of ranks of the job.
        ranks: u32,
    },
    /// The address leads back to this rank.
    #[error("the address leads to this rank itself")]
    Oneself,
    /// The two ranks have different settings.
    #[error(
        "its links hold {theirs:?} packets and bytes, those of this rank {ours:?}: all ranks need the same settings"
    )]
    Sizes {
        /// The sizes of this rank.
        ours: (u32, u32),
        /// The sizes of the other rank.
        theirs: (u32, u32),
    },
    /// The other end sent an invalid answer.
    #[error("its answer to the proof cannot be understood")]
    Answer,
}
