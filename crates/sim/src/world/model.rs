//! The properties of a simulated network, in numbers. This module never reads a packet.

use serde::Deserialize;

use canele_rail::{Caps, Distance, LinkTraits, Verbs};
use canele_sys::device::MemoryKinds;

/// The bytes that every packet has besides its payload.
pub(super) const HEADER_BYTES: u64 = 16;

/// The properties of every link of a network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Model {
    /// The time from the departure of a packet until its arrival, without the time that [`Topology`] adds.
    pub latency_ns: u64,
    /// The speed at which a packet leaves and arrives, in bytes per millisecond; at least 1.
    pub bytes_per_ms: u64,
    /// The time that a packet costs its sender in addition to its bytes. The next packet of the rank waits
    /// for it.
    pub overhead_ns: u64,
    /// The unit in which the network carries bytes; packets are rounded up to it. At least 1.
    pub unit_bytes: u64,
    /// The number of stages of equal speed that a packet passes in turn; at least 1.
    pub stages: u64,
    /// The size of the pieces in which a stage passes a packet on to the next stage, in bytes; at least 1.
    pub stage_bytes: u64,
    /// The most that is added to a packet's latency; the amount is drawn from the seed. Packets of a link do
    /// not overtake each other.
    pub jitter_ns: u64,
    /// The most packets under way on a link, of which an eighth is reserved for control.
    pub cells: usize,
    /// The most bytes of bulk under way on a link: a power of two, at least 256. A packet takes at most a
    /// quarter.
    pub payload: usize,
    /// The most times that a peer's region is reported as `Wanted` before it is there; the number is drawn
    /// from the seed.
    pub region_misses: u32,
    /// True if peers' regions can be read and written.
    pub maps_regions: bool,
    /// The percentage of messages that are better read from memory, drawn from the seed, if peers' regions
    /// can be read. Only messages of 256 bytes and more count.
    pub fetched_percent: usize,
    /// True if a peer may have several links, and lose one and get another.
    pub recoverable: bool,
    /// The distance of [`Caps`]. Use [`Distance::Host`] if waiting for an answer is as cheap as within a
    /// host.
    pub distance: Distance,
    /// True if peers' registered regions can be accessed by verbs.
    pub verbs: bool,
    /// True if a packet costs so much that a link is busy from a commit until the next pass.
    pub busy: bool,
    /// True if the head of a packet comes before its bulk: the receiver may say where the bulk goes.
    pub shows_bulk: bool,
    /// The best packet size of [`Caps`], at most `payload / 4`. If 0, it is `payload / 4`.
    pub best_packet: usize,
    /// The topology that joins the ranks.
    pub topology: Topology,
    /// The number of successive ranks that share a port of a crossbar, like those of one host; at least 1.
    pub ranks_per_port: usize,
}

/// The ways in which the ranks of a network are joined.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Topology {
    /// Each pair of ranks has a line of its own, so pairs share nothing.
    #[default]
    Direct,
    /// Each rank, or each group of [`Model::ranks_per_port`], has a port out and a port in of a switch that
    /// causes no delay.
    Crossbar,
    /// Each rank is attached to a router. Packets go through one or more routers.
    Wormhole(Wormhole),
}

/// A network of routers. With at most `ports` ranks it is one router, with more a grid of routers, as square
/// as possible.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wormhole {
    /// The number of links of a router, in each direction.
    pub ports: usize,
    /// The number of ranks at each router of a grid; four ports lead to its neighbours.
    pub hosts: usize,
    /// The bytes of a flit, which is sent, or held back, as a whole.
    pub flit_bytes: u64,
    /// The number of flits that fit in the buffer at the end of a link, which is also the number of credits
    /// of its sender.
    pub buffer_flits: u32,
    /// The time from the arrival of a flit's first byte to its departure, in an idle router, the wire
    /// included.
    pub router_ns: u64,
    /// The time from the moment at which a flit leaves a buffer until its credit reaches the sender.
    pub credit_ns: u64,
    /// The speed of links between routers. Links to ranks have the speed of the model.
    pub bytes_per_ms: u64,
}

impl Default for Model {
    /// Returns a small fast cluster: 1 µs, 10 GB/s.
    fn default() -> Self {
        Self {
            latency_ns: 1000,
            bytes_per_ms: 10_000_000,
            overhead_ns: 50,
            unit_bytes: 1,
            stages: 1,
            stage_bytes: u64::MAX,
            jitter_ns: 0,
            cells: 256,
            payload: 256 * 1024,
            region_misses: 2,
            maps_regions: true,
            fetched_percent: 0,
            recoverable: false,
            distance: Distance::Host,
            verbs: false,
            busy: false,
            shows_bulk: false,
            best_packet: 0,
            topology: Topology::Direct,
            ranks_per_port: 1,
        }
    }
}

/// Returns the time that `bytes` take at a speed, rounded up.
pub(super) fn time_ns(bytes: u64, bytes_per_ms: u64) -> u64 {
    bytes.saturating_mul(1_000_000).div_ceil(bytes_per_ms)
}

impl Model {
    /// Checks that the model can be simulated.
    ///
    /// # Errors
    /// Fails with the wrong parameter and its right values.
    pub fn check(&self) -> Result<(), String> {
        let least_one = [
            ("bytes_per_ms", self.bytes_per_ms),
            ("unit_bytes", self.unit_bytes),
            ("stages", self.stages),
            ("stage_bytes", self.stage_bytes),
            ("cells", self.cells as u64),
            ("ranks_per_port", self.ranks_per_port as u64),
        ];
        if let Some((name, _)) = least_one.iter().find(|(_, value)| *value == 0) {
            return Err(format!("{name} is at least 1"));
        }
        if !self.payload.is_power_of_two() || self.payload < 256 {
            return Err(format!("payload is a power of two from 256 on, not {}", self.payload));
        }
        if self.best_packet > self.max_bulk() {
            return Err(format!("best_packet is at most payload / 4 = {}", self.max_bulk()));
        }
        match self.topology {
            Topology::Wormhole(wormhole) => wormhole.check(self),
            Topology::Direct | Topology::Crossbar => Ok(()),
        }
    }

    fn max_bulk(&self) -> usize {
        self.payload / 4
    }

    /// Returns the time for which a packet of `bytes` bytes, header included, occupies a port.
    pub(super) fn wire_ns(&self, bytes: u64) -> u64 {
        time_ns(bytes.next_multiple_of(self.unit_bytes), self.bytes_per_ms)
    }

    /// Returns the time until the first part of a packet is in the last stage.
    pub(super) fn fill_ns(&self, bytes: u64) -> u64 {
        (self.stages - 1) * self.wire_ns(bytes.min(self.stage_bytes))
    }

    /// Returns the time from commit to arrival of a packet with `payload` bytes of payload in an idle
    /// network. The ranks are at one switch or router.
    pub fn idle_ns(&self, payload: u64) -> u64 {
        let bytes = HEADER_BYTES + payload;
        let through = match self.topology {
            Topology::Direct | Topology::Crossbar => self.fill_ns(bytes) + self.wire_ns(bytes),
            Topology::Wormhole(wormhole) => wormhole.idle_ns(self, bytes),
        };
        self.overhead_ns + self.latency_ns + through
    }

    /// Returns the capabilities of a rail of such a network.
    pub(super) fn caps(&self) -> Caps {
        let narrow = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        Caps {
            name: "sim",
            latency_ns: narrow(self.idle_ns(0)),
            bytes_per_us: narrow(self.bytes_per_ms / 1000).max(1),
            max_bulk: self.max_bulk(),
            overhead_ns: narrow(self.overhead_ns),
            best_packet: if self.best_packet == 0 { self.max_bulk() } else { self.best_packet },
            link_traits: if self.recoverable {
                LinkTraits::SEVERAL | LinkTraits::RECOVERABLE
            } else {
                LinkTraits::empty()
            },
            distance: self.distance,
            lends: self.shows_bulk,
            reliable: true,
            maps_regions: self.maps_regions,
            memory_kinds: MemoryKinds::HOST,
            verbs: if self.verbs { Verbs::all() } else { Verbs::empty() },
        }
    }
}

impl Wormhole {
    fn check(&self, model: &Model) -> Result<(), String> {
        if self.flit_bytes == 0 || self.buffer_flits == 0 || self.bytes_per_ms == 0 {
            return Err(
                "flit_bytes, buffer_flits and bytes_per_ms of a wormhole network are at least 1".into()
            );
        }
        if self.hosts == 0 || self.ports < self.hosts + 4 {
            return Err(format!("a router with {} hosts needs {} ports", self.hosts, self.hosts + 4));
        }
        if model.stages != 1 || model.unit_bytes != 1 {
            return Err("a wormhole network has flits, no stages and units".into());
        }
        Ok(())
    }

    /// Returns the time for which a flit occupies a link of a speed.
    pub(super) fn flit_ns(&self, bytes_per_ms: u64) -> u64 {
        time_ns(self.flit_bytes, bytes_per_ms)
    }

    fn idle_ns(&self, model: &Model, bytes: u64) -> u64 {
        self.router_ns + bytes.div_ceil(self.flit_bytes) * self.flit_ns(model.bytes_per_ms)
    }
}
