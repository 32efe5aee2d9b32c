//! The cost model of messages: the time of each variant, as a function of the bytes and of the costs of the
//! link.
//!
//! Nothing is measured here, and no message waits for an estimate: the limits are computed when a link opens.

use canele_profile::HostProfile;
use canele_rail::{Caps, Distance};

use super::Variant;

/// A processor's time to write or read a cell, beside its lines.
const CELL_NS: f64 = 30.0;

/// One message in so many comes before its receive and is copied once more.
const EARLY_SHARE: f64 = 20.0;

/// The number of cache lines that a copy between regions moves beside its bytes: the chunk counter goes there
/// and back, from either end.
const COUNTER_LINES: f64 = 4.0;

/// The costs of a link, in nanoseconds and nanoseconds per byte.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkCosts {
    /// A packet that has its bytes in one line with its header, one way.
    short_ns: f64,
    /// Another packet without bytes, one way.
    latency_ns: f64,
    /// Each further packet of a burst: a processor's time, and in memory a line there and one back.
    packet_ns: f64,
    /// Each further piece in a pipeline.
    step_ns: f64,
    /// A byte, copied once at one end.
    copy_ns: f64,
    /// A byte on the wire; 0 in memory.
    wire_ns: f64,
    /// The answer that a receiver needs before it has access to a region.
    region_ns: f64,
    /// True if announced pieces are sent out of the user's memory.
    lends: bool,
}

impl LinkCosts {
    /// Returns the costs of links with these capabilities, on a host with this profile.
    pub fn over(caps: &Caps, host: &HostProfile) -> Self {
        match caps.distance {
            Distance::Host => Self::of_host(host),
            Distance::Network => Self::of_network(caps, host),
        }
    }

    /// Returns the costs of links in memory. They follow from the profile alone.
    pub fn of_host(host: &HostProfile) -> Self {
        let pair = host.pair_costs();
        let line_ns = f64::from(pair.line_ns);
        let (latency_ns, packet_ns) = (2.0 * line_ns, CELL_NS + 2.0 * line_ns);
        Self {
            short_ns: line_ns,
            latency_ns,
            packet_ns,
            step_ns: line_ns,
            copy_ns: 1000.0 / f64::from(pair.copy_rate.max(1)),
            wire_ns: 0.0,
            region_ns: latency_ns + packet_ns + COUNTER_LINES * line_ns,
            lends: false,
        }
    }

    /// Returns the costs of links of a network. Its packets lie in no cache when they are copied: a copy
    /// takes as long as through a ring between far processors.
    fn of_network(caps: &Caps, host: &HostProfile) -> Self {
        let (latency_ns, packet_ns) = (f64::from(caps.latency_ns), f64::from(caps.overhead_ns));
        Self {
            short_ns: latency_ns,
            latency_ns,
            packet_ns,
            step_ns: packet_ns,
            copy_ns: 1000.0 / f64::from(host.ring.far.max(1)),
            wire_ns: 1000.0 / f64::from(caps.bytes_per_us.max(1)),
            region_ns: 2.0 * latency_ns + packet_ns,
            lends: caps.lends,
        }
    }

    /// Returns the time before the first piece of an announced message: the ways of announcement, answer and
    /// piece.
    fn announced_ns(&self) -> f64 {
        3.0 * self.latency_ns + self.packet_ns
    }

    /// Returns the time of a message in pieces over `links` links that send from the user's memory; over
    /// other links it is that of [`Variant::Streamed`].
    pub fn streamed_ns(&self, bytes: usize, links: u32) -> f64 {
        if !self.lends {
            return self.estimate_ns(Variant::Streamed, bytes);
        }
        let (copy, wire) = (bytes as f64 * self.copy_ns, bytes as f64 * self.wire_ns);
        self.announced_ns() + copy.max(wire / f64::from(links))
    }

    /// Returns the time of a variant for `bytes` bytes, until the message is received and the sender knows
    /// it.
    pub fn estimate_ns(&self, variant: Variant, bytes: usize) -> f64 {
        let Self { short_ns, latency_ns, packet_ns, step_ns, region_ns, lends, .. } = *self;
        let (copy, wire) = (bytes as f64 * self.copy_ns, bytes as f64 * self.wire_ns);
        // Both ends and the wire work at once. A pipeline with the best pieces costs twice the root of copy
        // and step more (`pipeline_bytes`).
        let pipelined = wire.max(copy) + 2.0 * (copy * step_ns).sqrt();
        match variant {
            Variant::ToSelf => copy,
            Variant::Short => short_ns,
            Variant::Eager if lends => latency_ns + wire.max(copy) + copy / EARLY_SHARE,
            Variant::Eager => latency_ns + wire + 2.0 * copy + copy / EARLY_SHARE,
            Variant::Coalesced => latency_ns + packet_ns + wire + 3.0 * copy + copy / EARLY_SHARE,
            Variant::EagerMulti => latency_ns + packet_ns + pipelined + copy / EARLY_SHARE,
            Variant::Streamed if lends => self.streamed_ns(bytes, 1),
            Variant::Streamed => self.announced_ns() + packet_ns + pipelined,
            Variant::DirectRead => latency_ns + region_ns + wire.max(copy),
            Variant::DirectWrite => latency_ns + region_ns + latency_ns + wire.max(copy),
            Variant::DirectBoth => latency_ns + region_ns + COUNTER_LINES * step_ns + copy / 2.0,
        }
    }
}
