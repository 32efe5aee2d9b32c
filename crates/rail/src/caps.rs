//! The capabilities of rails, as numbers.

use canele_sys::device::MemoryKinds;
use serde::{Deserialize, Serialize};

use crate::Verbs;

bitflags::bitflags! {
    /// Properties of the links to one peer over one kind of rail. If any is set, each message carries its
    /// number within its flow.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct LinkTraits: u8 {
        /// A peer may have several links of this kind at once.
        const SEVERAL = 1;
        /// A link may be lost while its peer lives, and another link may replace it.
        const RECOVERABLE = 1 << 1;
        /// Packets of a link may overtake each other.
        const OVERTAKING = 1 << 2;
    }
}

/// The distance to the other end of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distance {
    /// The peer is on this host.
    #[default]
    Host,
    /// The peer is behind a network. Waiting for an answer takes longer than copying the message two more
    /// times.
    Network,
}

/// The capabilities of a rail, as numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Caps {
    /// The driver's name.
    pub name: &'static str,
    /// One-way time of the smallest packet.
    pub latency_ns: u32,
    /// Bandwidth of large transfers.
    pub bytes_per_us: u32,
    /// Largest bulk of one packet, in bytes.
    pub max_bulk: usize,
    /// Processor time of one packet beside its bytes, in nanoseconds. If it is high, several messages are
    /// combined into one packet.
    pub overhead_ns: u32,
    /// Bulk size in bytes above which larger packets are no more efficient.
    pub best_packet: usize,
    /// Properties of the links, equal at both ends.
    pub link_traits: LinkTraits,
    /// The distance to the peers.
    pub distance: Distance,
    /// True if [`crate::FastPath::lend`] does not copy the bulk.
    pub lends: bool,
    /// True if no packet is lost or duplicated.
    pub reliable: bool,
    /// True if this rank can map regions of a peer ([`crate::OneSided::reach`]), and the peer can map regions
    /// of this rank.
    pub maps_regions: bool,
    /// The kinds of memory that a link sends from and receives into. The protocols move host memory only.
    pub memory_kinds: MemoryKinds,
    /// The verbs for regions of a peer that are not mapped here ([`crate::Rma`]).
    pub verbs: Verbs,
}

impl Caps {
    /// Returns true if messages carry their number within their flow to restore their order. Both ends return
    /// the same value.
    #[inline(always)]
    pub fn needs_numbers(&self) -> bool {
        !self.link_traits.is_empty()
    }
}

/// The speed of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Speed {
    /// Round-trip time from sending a packet to its acknowledgement, measured while few other bytes are under
    /// way.
    pub round_trip_ns: u32,
    /// Bytes that reach the peer in a microsecond.
    pub bytes_per_us: u32,
    /// Bytes that were sent and are not acknowledged.
    pub under_way: usize,
}
