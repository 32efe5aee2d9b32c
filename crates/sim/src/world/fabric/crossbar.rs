//! A switch that is never in the way: packets of one host share its port out, packets to one host its port
//! in.
//!
//! A rank works for a packet as long as its overhead is, and then gives it to its port. The packet occupies
//! the port for the time of its bytes, behind packets of other ranks that were there before. It reaches the
//! receiver's port one filling of the stages later. There it waits behind those that were there before, and
//! occupies the port for its bytes. The switch has room for all packets that the links allow to be under way.
//! It does not model frames of two packets that alternate within a packet's time.

use super::super::model::Model;
use super::{Due, FabricEvent, SimPacket};

/// The ports.
pub struct Crossbar {
    ports: Vec<Ports>,
    /// The time at which each rank has given its packets to its port.
    given_ns: Vec<u64>,
    ranks_per_port: usize,
}

#[derive(Clone, Default)]
struct Ports {
    out_free_ns: u64,
    in_free_ns: u64,
    /// The time at which the packet before reaches its receiver's port; packets of a host do not overtake
    /// each other.
    reached_ns: u64,
}

impl Crossbar {
    pub fn new(ranks: usize, ranks_per_port: usize) -> Self {
        let ports = vec![Ports::default(); ranks.div_ceil(ranks_per_port)];
        Self { ports, given_ns: vec![0; ranks], ranks_per_port }
    }

    pub fn enter(&mut self, model: &Model, now_ns: u64, packet: SimPacket, due: &mut Vec<Due>) {
        let given_ns = &mut self.given_ns[packet.from.0 as usize];
        let starts_ns = now_ns.max(*given_ns) + model.overhead_ns;
        *given_ns = starts_ns + model.wire_ns(packet.bytes);
        if self.ranks_per_port == 1 {
            // No other rank can come before it.
            return self.leave(model, starts_ns, packet, due);
        }
        due.push(Due::Step(starts_ns, FabricEvent::Ready(packet)));
    }

    /// Gives a packet to the port out after its rank has worked for it.
    pub fn leave(&mut self, model: &Model, now_ns: u64, packet: SimPacket, due: &mut Vec<Due>) {
        let from = &mut self.ports[packet.from.0 as usize / self.ranks_per_port];
        let starts_ns = from.out_free_ns.max(now_ns);
        from.out_free_ns = starts_ns + model.wire_ns(packet.bytes);
        from.reached_ns = from.reached_ns.max(starts_ns + model.fill_ns(packet.bytes));
        due.push(Due::Step(from.reached_ns, FabricEvent::AtPort(packet)));
    }

    pub fn at_port(&mut self, model: &Model, now_ns: u64, packet: SimPacket, due: &mut Vec<Due>) {
        let to = &mut self.ports[packet.to.0 as usize / self.ranks_per_port];
        to.in_free_ns = to.in_free_ns.max(now_ns) + model.wire_ns(packet.bytes);
        due.push(Due::Out(to.in_free_ns, packet));
    }
}
