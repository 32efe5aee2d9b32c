//! A link as people see it who look at a running job: between which addresses, what it carried, how fast it was measured to be.
//!
//! Owns nothing. Asks the system for the addresses, so it is for those who ask seldom.

use std::net::SocketAddr;

use canele_sys::ids::Rank;

use super::Tcp;

/// A link that is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Seen {
    /// Its address here; none if the system does not say.
    pub here: Option<SocketAddr>,
    /// The peer's.
    pub there: Option<SocketAddr>,
    /// Bytes that left since the link was made, those of headers too.
    pub sent: u64,
    /// Bytes that came.
    pub received: u64,
    /// Bytes that have left and are not acknowledged.
    pub under_way: u64,
    /// Shortest round trip in ns and bytes in a second, measured with large packets; none before the first was acknowledged.
    pub measured: Option<(u64, u64)>,
}

impl Tcp {
    /// The link to a peer, if it is open. Two system calls.
    pub fn seen(&self, peer: Rank) -> Option<Seen> {
        let link = self.links.get(peer.0 as usize)?.as_ref()?;
        let [here, there] = link.ends();
        let (sent, received) = (link.sent(), link.received());
        let (under_way, measured) = (link.outgoing.under_way(), link.outgoing.pace.measured());
        Some(Seen { here, there, sent, received, under_way, measured })
    }
}
