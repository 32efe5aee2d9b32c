//! The cost model of messages: what each variant takes, as a function of the bytes and of what the link costs.
//!
//! Nothing is measured here, and nothing of it runs on the way of a message: the limits that decide are computed when a link opens.

use canele_profile::HostProfile;
use canele_rail::{Caps, Distance};

use super::Variant;

/// A processor's time to write or read a cell, beside its lines.
const CELL_NS: f64 = 30.0;

/// One message of so many comes before its receive, where it is kept in a copy more.
const EARLY_SHARE: f64 = 20.0;

/// Lines that a copy by one end costs beside its bytes: the chunk counter goes there and back, from either end.
const COUNTER_LINES: f64 = 4.0;

/// What a link costs, in nanoseconds and nanoseconds per byte.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinkCosts {
    /// A packet that has its bytes in one line with its header, one way.
    short_ns: f64,
    /// Another packet without bytes, one way.
    latency_ns: f64,
    /// One packet more behind another: a processor's time, and in memory a line there and one back.
    packet_ns: f64,
    /// One piece more in a pipeline.
    step_ns: f64,
    /// A byte, copied once at one end.
    copy_ns: f64,
    /// A byte on the wire; nothing in memory.
    wire_ns: f64,
    /// The answer that a receiver needs before it has access to a region.
    region_ns: f64,
    /// Announced pieces are sent out of the user's memory.
    lends: bool,
}

impl LinkCosts {
    /// The costs of links with these capabilities, on a host with this profile.
    pub fn over(caps: &Caps, host: &HostProfile) -> Self {
        match caps.distance {
            Distance::Host => Self::of_host(host),
            Distance::Network => Self::of_network(caps, host),
        }
    }

    /// The costs of links in memory. What a packet costs follows from the profile alone.
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

    /// The costs of links of a network. Its packets lie in memory that is in no cache when they are copied: that takes as long as
    /// through a ring between far processors.
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

    /// The time before the first piece of an announced message: it, the answer, and the piece on their ways.
    fn announced_ns(&self) -> f64 {
        3.0 * self.latency_ns + self.packet_ns
    }

    /// The time of a message that is sent in pieces over so many links, where these are lent; over others it is [`Variant::Streamed`] alone.
    pub fn streamed_ns(&self, bytes: usize, links: u32) -> f64 {
        if !self.lends {
            return self.estimate_ns(Variant::Streamed, bytes);
        }
        let (copy, wire) = (bytes as f64 * self.copy_ns, bytes as f64 * self.wire_ns);
        self.announced_ns() + copy.max(wire / f64::from(links))
    }

    /// The time that a variant takes for so many bytes, until the message is received and the sender knows of it.
    pub fn estimate_ns(&self, variant: Variant, bytes: usize) -> f64 {
        let Self { short_ns, latency_ns, packet_ns, step_ns, region_ns, lends, .. } = *self;
        let (copy, wire) = (bytes as f64 * self.copy_ns, bytes as f64 * self.wire_ns);
        // Both ends and the wire work at once. A pipeline with the best pieces costs twice the root of copy and step more (`pipeline_bytes`).
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
