//! A rank's links as it tells them to its launcher, for people who look at the job. Owns their shape; decides nothing.

use serde::{Deserialize, Serialize};

/// The links of one rank.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Links {
    /// How many peers are reached through shared memory.
    pub neighbours: u32,
    /// Which: the first and the last rank of each unbroken series, of at most [`Links::MOST_SERIES`].
    pub shm: Vec<(u32, u32)>,
    /// Links over sockets: those that carried most, and of their peers all.
    pub sockets: Vec<SocketLink>,
    /// How many peers reached over sockets are left out.
    pub left_out: u32,
}

impl Links {
    /// Series of peers that are told.
    pub const MOST_SERIES: usize = 32;
    /// Bytes of a reason that are told.
    pub const MOST_TROUBLE: usize = 120;
    /// Bytes of an address that are told.
    pub const MOST_ADDRESS: usize = 64;

    /// Whether it can be the answer of one of so many ranks that may tell `most` links over sockets.
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
    /// To whom.
    pub peer: u32,
    /// The number of the rail, from 1.
    pub rail: u8,
    /// Packets can leave over it.
    pub open: bool,
    /// Why it is not open, as far as is known: the last attempt to make it.
    pub trouble: String,
    /// Its address here, while it is open, as people write it; empty if it is not known.
    pub here: String,
    /// The peer's.
    pub there: String,
    /// Shortest round trip, with the transmission of a large packet; 0: not measured yet.
    pub round_trip_ns: u64,
    /// Bytes that reach the peer in a second; 0: not measured yet.
    pub bytes_per_s: u64,
    /// Bytes that left since it was made, those of headers too.
    pub sent: u64,
    /// Bytes that came.
    pub received: u64,
    /// Bytes that have left and are not acknowledged.
    pub under_way: u64,
}
