//! The data of one end that its handshake uses.

use canele_sys::ids::Rank;

/// The values that both ends must have in common, and the identity of this end.
#[derive(Clone)]
pub struct Credentials {
    /// This rank.
    pub me: Rank,
    /// The number of the rail.
    pub rail: u8,
    /// Number of ranks of the job.
    pub ranks: u32,
    /// The job.
    pub job: u64,
    /// The key that the ranks of the job share and no other process knows.
    pub key: [u8; 32],
    /// Number of packets that a link holds.
    pub cells: u32,
    /// Bytes of bulk a link holds.
    pub payload: u32,
    /// The names of the connection's sockets, equal at both ends.
    pub sockets: SocketNames,
}

/// The names of the two sockets of a connection, as the system reports them to each end. The proofs are bound
/// to them, because a stranger that relays the proofs of two ranks has sockets with other names. Both are
/// empty if the network may change addresses on the way.
#[derive(Clone, Default)]
pub struct SocketNames {
    /// The name of the responder's listening socket.
    pub listener: Vec<u8>,
    /// The name of the initiator's socket.
    pub initiator: Vec<u8>,
}
