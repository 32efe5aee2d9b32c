//! The host of each rank, the costs of messages within a host and between hosts, and the estimate of an
//! operation.

use canele_collective::{Algorithm, CollectiveCosts, HostLevels, Hosts, Seat};
use canele_profile::{HostProfile, NetworkProfile};
use canele_rail::Distance;
use canele_sim::world::{Model, Topology};
use canele_sys::ids::{LinkId, Rank};

use crate::sim::arguments::ScaleOperation;

/// The profile of each host.
pub const HOST: HostProfile = HostProfile::OWN_CACHES;

/// Processor time for a packet in shared memory, in ns, beside its bytes.
const PACKET_NS: u64 = 30;

/// Ranks in blocks on hosts that a network connects.
pub struct Placing {
    ranks: usize,
    per_host: usize,
    network: Model,
    inside: Model,
    hosts: Option<Hosts>,
    /// The seat of each rank, without its number.
    seat: Seat,
}

impl Placing {
    pub fn new(network: &Model, ranks: usize, per_host: usize, forced: Option<Algorithm>) -> Self {
        let network = Model { ranks_per_port: per_host, ..*network };
        let (hosts, inside) = (Hosts::new((0..ranks).map(|rank| (rank / per_host) as u32)), shared_memory());
        let costs_inside = CollectiveCosts::of(&HOST, per_host);
        let levels = hosts.as_ref().map(|hosts| HostLevels::new(hosts, costs_inside));
        let costs =
            if ranks <= per_host { costs_inside } else { CollectiveCosts::between(Some(&profile(&network))) };
        let seat = Seat {
            me: 0,
            ranks,
            local: ranks,
            oversubscribed: false,
            shared_buffers: false,
            costs,
            levels,
            forced,
        };
        Self { ranks, per_host, network, inside, hosts, seat }
    }

    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Returns the network between hosts, and that within each.
    pub fn models(&self) -> [Model; 2] {
        [self.network, self.inside]
    }

    pub fn hosts(&self) -> Option<&Hosts> {
        self.hosts.as_ref()
    }

    pub fn seat(&self, me: usize) -> Seat {
        Seat { me, ..self.seat }
    }

    fn is_inside(&self, one: Rank, other: Rank) -> bool {
        one.0 as usize / self.per_host == other.0 as usize / self.per_host
    }

    /// Returns the link of a rank to a peer.
    pub fn link(&self, me: Rank, peer: Rank) -> LinkId {
        LinkId::new(u8::from(self.is_inside(me, peer)), peer)
    }

    /// Returns the estimate of the model: rounds of doubling between hosts and within them, and the bytes of
    /// the busiest port between hosts. With one host it uses the busiest rank.
    pub fn model_ns(&self, operation: ScaleOperation, bytes: u64) -> u64 {
        use ScaleOperation::*;
        let members = self.per_host.min(self.ranks) as u64;
        let hosts = self.ranks.div_ceil(self.per_host) as u64;
        let (outer, places) = if hosts > 1 { (&self.network, members) } else { (&self.inside, 1) };
        let ports = if hosts > 1 { hosts } else { members };
        let carried = match operation {
            Connect | Barrier => 0,
            Broadcast | Reduce | Scan | Exscan => bytes,
            Allreduce => 2 * bytes * (ports - 1) / ports,
            Gather | Scatter | Allgather | ReduceScatter => (ports - 1) * places * bytes,
            Alltoall => (ports - 1) * places * places * bytes,
        };
        // Data goes to the leader of each host, from it, or both.
        let ways = match operation {
            Broadcast | Scatter | Reduce | Gather => 1,
            _ => 2,
        };
        let within = if places > 1 { ways * rounds(places) * self.inside.idle_ns(bytes) } else { 0 };
        let first = if operation == Connect { setup_ns(outer) } else { 0 };
        let one = outer.idle_ns(0) + first;
        rounds(ports) * one + carried * 1_000_000 / outer.bytes_per_ms + within
    }
}

/// Returns ⌈log₂ members⌉.
fn rounds(members: u64) -> u64 {
    u64::from(members.next_power_of_two().ilog2())
}

/// Round trips to make a connection: one of the network's own, two of the handshake.
const ROUND_TRIPS: u64 = 3;

/// Returns the time to connect over a network.
pub fn setup_ns(model: &Model) -> u64 {
    ROUND_TRIPS * 2 * model.idle_ns(0)
}

/// Returns the shared memory of a host as a network: a line from one processor to another, and copies at the
/// rate of a ring.
fn shared_memory() -> Model {
    Model {
        latency_ns: HOST.line_ns.shared_l3.into(),
        bytes_per_ms: u64::from(HOST.pair_costs().ring_rate) * 1000,
        overhead_ns: PACKET_NS,
        distance: Distance::Host,
        topology: Topology::Direct,
        maps_regions: false,
        ..Model::default()
    }
}

/// Returns a network in the form of a profile.
fn profile(model: &Model) -> NetworkProfile {
    let narrow = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    NetworkProfile {
        name: "sim".into(),
        latency_ns: narrow(model.idle_ns(8)),
        packet_ns: narrow(model.overhead_ns),
        bytes_per_us: narrow(model.bytes_per_ms / 1000).max(1),
    }
}
