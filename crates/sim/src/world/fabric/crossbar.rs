//! A switch that never delays packets. The ranks of one host share a port out and a port in.
//!
//! A rank works on a packet for the overhead of the model, and then gives the packet to the port out. The
//! port is occupied for the time of the packet's bytes, after packets that other ranks gave it before. The
//! packet reaches the receiver's port when its first part has filled the later stages. There it waits for the
//! packets that came before it, and occupies the port for the time of its bytes. The switch has room for all
//! packets that links allow under way. It does not model that the frames of two packets can alternate.

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
    /// The time at which the previous packet reaches the port of its receiver. Packets of one host do not
    /// overtake each other.
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
            // The rank has the port alone, so no packet of another rank can be earlier.
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
