//! A switch that is never in the way: packets of one rank share its port out, packets to one rank its port in.
//!
//! A packet occupies its sender's port for its overhead and its bytes, and reaches the receiver's port one filling of the
//! stages later; there it waits behind those that were there before, and occupies the port for its bytes. The switch has
//! room for all that waits, as much as the links allow to be under way. What is not modelled: frames of two packets that
//! alternate within a packet's time.

use super::super::model::Model;
use super::{Due, FabricEvent, SimPacket};

/// The ports.
pub struct Crossbar {
    ranks: Vec<Ports>,
}

#[derive(Clone, Default)]
struct Ports {
    out_free_ns: u64,
    in_free_ns: u64,
    /// When the packet before reaches its receiver's port; packets of a rank do not overtake each other.
    reached_ns: u64,
}

impl Crossbar {
    pub fn new(ranks: usize) -> Self {
        Self { ranks: vec![Ports::default(); ranks] }
    }

    pub fn enter(&mut self, model: &Model, now_ns: u64, packet: SimPacket, due: &mut Vec<Due>) {
        let from = &mut self.ranks[packet.from.0 as usize];
        let starts_ns = from.out_free_ns.max(now_ns) + model.overhead_ns;
        from.out_free_ns = starts_ns + model.wire_ns(packet.bytes);
        from.reached_ns = from.reached_ns.max(starts_ns + model.fill_ns(packet.bytes));
        due.push(Due::Step(from.reached_ns, FabricEvent::AtPort(packet)));
    }

    pub fn at_port(&mut self, model: &Model, now_ns: u64, packet: SimPacket, due: &mut Vec<Due>) {
        let to = &mut self.ranks[packet.to.0 as usize];
        to.in_free_ns = to.in_free_ns.max(now_ns) + model.wire_ns(packet.bytes);
        due.push(Due::Out(to.in_free_ns, packet));
    }
}
