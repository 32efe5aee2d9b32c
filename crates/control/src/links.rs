//! A rank's links as it reports them to its launcher, for people who look at the job. Owns their shape;
//! decides nothing.

use serde::{Deserialize, Serialize};

/// The links of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Links {
    /// The number of peers that are reached through shared memory.
    pub neighbours: u32,
    /// Those peers: the first and the last rank of each unbroken series, at most [`Links::MOST_SERIES`]
    /// series.
    pub shm: Vec<(u32, u32)>,
    /// The links over sockets that carried the most bytes. If one link of a peer is listed, all of them are.
    pub sockets: Vec<SocketLink>,
    /// The number of peers reached over sockets that are left out.
    pub left_out: u32,
}

impl Links {
    /// The most series of peers in a report.
    pub const MOST_SERIES: usize = 32;
    /// The most bytes of a reason in a report.
    pub const MOST_TROUBLE: usize = 120;
    /// The most bytes of an address in a report.
    pub const MOST_ADDRESS: usize = 64;

    /// Returns true if this can be the answer of a rank in a job of `ranks` ranks that may report `most`
    /// links over sockets.
    pub fn is_sound(&self, ranks: u32, most: u32) -> bool {
        let link = |link: &SocketLink| {
            let has_short_ends = [&link.here, &link.there].iter().all(|end| end.len() <= Self::MOST_ADDRESS);
            link.peer < ranks && link.trouble.len() <= Self::MOST_TROUBLE && has_short_ends
        };
        self.neighbours < ranks
            && self.shm.len() <= Self::MOST_SERIES
            && self.shm.iter().all(|(first, last)| first <= last && *last < ranks)
            && self.sockets.len() <= most as usize
            && self.sockets.iter().all(link)
    }
}

/// A link over sockets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketLink {
    /// The peer.
    pub peer: u32,
    /// The number of the rail, from 1.
    pub rail: u8,
    /// True if packets can be sent over the link.
    pub open: bool,
    /// The reason why the link is not open, as far as it is known, from the last attempt to open it.
    pub trouble: String,
    /// The address of this rank's end while the link is open, as people write it; empty if it is not known.
    pub here: String,
    /// The peer's address.
    pub there: String,
    /// The shortest round trip, with the transmission of a large packet; 0 if not measured yet.
    pub round_trip_ns: u64,
    /// The bytes that reach the peer in a second; 0 if not measured yet.
    pub bytes_per_s: u64,
    /// The bytes sent since the link was made, headers included.
    pub sent: u64,
    /// The bytes received.
    pub received: u64,
    /// The bytes that were sent and are not acknowledged.
    pub under_way: u64,
}
