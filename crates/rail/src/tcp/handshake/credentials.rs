//! What one end of a link brings to its handshake.

use canele_sys::ids::Rank;

/// What both ends must have in common, and who this end is.
#[derive(Clone)]
pub struct Credentials {
    /// This rank.
    pub me: Rank,
    /// The number of the rail.
    pub rail: u8,
    /// Ranks of the job.
    pub ranks: u32,
    /// The job.
    pub job: u64,
    /// Known to the ranks of the job and to no other process.
    pub key: [u8; 32],
    /// Packets a link holds.
    pub cells: u32,
    /// Bytes of bulk a link holds.
    pub payload: u32,
    /// What the connection is known by at both ends.
    pub sockets: SocketNames,
}

/// The names of the two sockets of a connection, as the system tells them to each end. The proofs are bound to them: a stranger that passes
/// on the proofs of two ranks sits between sockets of other names. Both are empty where the network may change them on the way.
#[derive(Clone, Default)]
pub struct SocketNames {
    /// That of the socket at which the responder listens.
    pub listener: Vec<u8>,
    /// The initiator's.
    pub initiator: Vec<u8>,
}
