//! What rails can do, in numbers.

use canele_sys::device::MemoryKinds;
use serde::{Deserialize, Serialize};

use crate::Verbs;

bitflags::bitflags! {
    /// What may happen to the links of a peer over one kind of rail. Where anything may, messages carry their number within their flow.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct LinkTraits: u8 {
        /// A peer may have several links of this kind at once.
        const SEVERAL = 1;
        /// A link may be lost while its peer lives, and another one take its place.
        const RECOVERABLE = 1 << 1;
        /// Packets of a link may overtake each other.
        const OVERTAKING = 1 << 2;
    }
}

/// How far the other end of a link is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Distance {
    /// On this host.
    #[default]
    Host,
    /// Behind a network: to wait for an answer takes longer than two more copies of a message do.
    Network,
}

/// What a rail can do, in numbers.
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
    /// What a packet costs beside its bytes, in nanoseconds of a processor: where it is much, several messages are worth one
    /// packet.
    pub overhead_ns: u32,
    /// Bytes of bulk from which on a packet gains nothing by growing.
    pub best_packet: usize,
    /// What may happen to links. The same at both ends.
    pub link_traits: LinkTraits,
    /// How far the peers are.
    pub distance: Distance,
    /// [`crate::FastPath::lend`] copies nothing.
    pub lends: bool,
    /// Nothing is lost or doubled.
    pub reliable: bool,
    /// Regions of a peer can be mapped here ([`crate::OneSided::reach`]), and this rank's by the peer.
    pub maps_regions: bool,
    /// The kinds of memory that a link sends from and receives into. The protocols move memory of the host alone so far.
    pub memory_kinds: MemoryKinds,
    /// The verbs for regions of a peer that are not mapped ([`crate::Rma`]).
    pub verbs: Verbs,
}

impl Caps {
    /// Whether messages carry their number within their flow, so that their order can be restored. The same at both ends.
    #[inline(always)]
    pub fn needs_numbers(&self) -> bool {
        !self.link_traits.is_empty()
    }
}

/// How fast a link is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Speed {
    /// From a packet's leaving to its acknowledgement, when little else was under way.
    pub round_trip_ns: u32,
    /// Bytes that reach the peer in a microsecond.
    pub bytes_per_us: u32,
    /// Bytes that have left and are not acknowledged.
    pub under_way: usize,
}
