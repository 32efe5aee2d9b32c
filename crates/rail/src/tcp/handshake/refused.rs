//! Why the two ends of a handshake do not get together.

use canele_sys::ids::Rank;

/// Why a connection was not made.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum HandshakeError {
    /// The other end speaks something else.
    #[error("what answers there is none of Canelé's")]
    Magic,
    /// Two versions of Canelé.
    #[error("it speaks version {theirs} of the protocol, this program version {ours}")]
    Version {
        /// This program's.
        ours: u16,
        /// The other's.
        theirs: u16,
    },
    /// It does not have the job's key, or a third party changed or repeated what it said.
    #[error("it did not prove that it has the job's key")]
    Proof,
    /// It has the key, and belongs to another job.
    #[error("it belongs to job {theirs:#x}, this program to job {ours:#x}")]
    Job {
        /// This program's.
        ours: u64,
        /// The other's.
        theirs: u64,
    },
    /// It is, or looks for, another rank.
    #[error("{theirs} is there instead of {expected}")]
    Rank {
        /// Who should be there.
        expected: Rank,
        /// Who is.
        theirs: Rank,
    },
    /// Rails of different numbers.
    #[error("its rail {theirs} is there, not a rail {ours}")]
    Rail {
        /// This rail's.
        ours: u8,
        /// The other's.
        theirs: u8,
    },
    /// There is no such rank.
    #[error("it says to be {theirs} of {ranks} ranks")]
    NoSuchRank {
        /// What it says.
        theirs: Rank,
        /// Ranks of the job.
        ranks: u32,
    },
    /// The address leads back here.
    #[error("the address leads to this rank itself")]
    Oneself,
    /// Two ranks with different settings.
    #[error(
        "its links hold {theirs:?} packets and bytes, those of this rank {ours:?}: all ranks need the same settings"
    )]
    Sizes {
        /// This rank's.
        ours: (u32, u32),
        /// The other's.
        theirs: (u32, u32),
    },
    /// It answered something that does not exist.
    #[error("its answer to the proof cannot be understood")]
    Answer,
}
