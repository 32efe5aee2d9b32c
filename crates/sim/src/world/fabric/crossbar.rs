//! A switch that is never in the way: packets of one host share its port out, packets to one host its port in.
//!
//! A rank works for a packet as long as its overhead is, one after the other. The packet then occupies the sender's port for its
//! bytes, and reaches the receiver's port one filling of the
//! stages later; there it waits behind those that were there before, and occupies the port for its bytes. The switch has
//! room for all that waits, as much as the links allow to be under way. What is not modelled: frames of two packets that
//! alternate within a packet's time.

use super::super::model::Model;
use super::{Due, FabricEvent, SimPacket};

/// The ports.
pub struct Crossbar {
    ports: Vec<Ports>,
    /// When the packet before has left each rank.
    left_ns: Vec<u64>,
    ranks_per_port: usize,
}

#[derive(Clone, Default)]
struct Ports {
    out_free_ns: u64,
    in_free_ns: u64,
    /// When the packet before reaches its receiver's port; packets of a host do not overtake each other.
    reached_ns: u64,
}

impl Crossbar {
    pub fn new(ranks: usize, ranks_per_port: usize) -> Self {
        let ports = vec![Ports::default(); ranks.div_ceil(ranks_per_port)];
        Self { ports, left_ns: vec![0; ranks], ranks_per_port }
    }

    pub fn enter(&mut self, model: &Model, now_ns: u64, packet: SimPacket, due: &mut Vec<Due>) {
        let rank = packet.from.0 as usize;
        let from = &mut self.ports[rank / self.ranks_per_port];
        let starts_ns = from.out_free_ns.max(self.left_ns[rank].max(now_ns) + model.overhead_ns);
        from.out_free_ns = starts_ns + model.wire_ns(packet.bytes);
        self.left_ns[rank] = from.out_free_ns;
        from.reached_ns = from.reached_ns.max(starts_ns + model.fill_ns(packet.bytes));
        due.push(Due::Step(from.reached_ns, FabricEvent::AtPort(packet)));
    }

    pub fn at_port(&mut self, model: &Model, now_ns: u64, packet: SimPacket, due: &mut Vec<Due>) {
        let to = &mut self.ports[packet.to.0 as usize / self.ranks_per_port];
        to.in_free_ns = to.in_free_ns.max(now_ns) + model.wire_ns(packet.bytes);
        due.push(Due::Out(to.in_free_ns, packet));
    }
}
