//! The fabric between the ranks of a network, which decides when a committed packet reaches its receiver.
//!
//! A fabric is moved by events: a packet enters, and the later events come back as a [`Due`] each. It loses
//! nothing, and knows nothing of links, room or payload.

mod crossbar;
mod grid;
mod wormhole;

use std::rc::Rc;

use canele_sys::ids::Rank;

use super::direction::Direction;
use super::model::{Model, Topology};
use crossbar::Crossbar;
use wormhole::Routers;

/// A packet under way.
pub struct SimPacket {
    pub way: Rc<Direction>,
    pub number: u64,
    /// The number of bytes, header included.
    pub bytes: u64,
    pub from: Rank,
    pub to: Rank,
}

/// Something that will happen in a fabric.
pub enum FabricEvent {
    /// A packet is ready for the port of its sender's host.
    Ready(SimPacket),
    /// A packet reaches the port of its receiver.
    AtPort(SimPacket),
    /// A channel may send its next flit.
    Send(u32),
    /// The next flit of a channel's buffer has been routed.
    Routed(u32),
}

/// An event that follows.
pub enum Due {
    Step(u64, FabricEvent),
    /// A packet leaves the fabric.
    Out(u64, SimPacket),
}

/// The fabric of one network.
pub struct Fabric {
    model: Model,
    kind: Kind,
}

enum Kind {
    Direct,
    Crossbar(Crossbar),
    Wormhole(Box<Routers>),
}

impl Fabric {
    pub fn new(model: Model, ranks: usize) -> Self {
        let kind = match model.topology {
            Topology::Direct => Kind::Direct,
            Topology::Crossbar => Kind::Crossbar(Crossbar::new(ranks, model.ranks_per_port)),
            Topology::Wormhole(wormhole) => Kind::Wormhole(Box::new(Routers::new(&model, wormhole, ranks))),
        };
        Self { model, kind }
    }

    /// Takes a committed packet.
    pub fn enter(&mut self, now_ns: u64, packet: SimPacket, due: &mut Vec<Due>) {
        let Self { model, kind } = self;
        match kind {
            Kind::Direct => {
                let left_ns = packet.way.leave(now_ns, model.overhead_ns + model.wire_ns(packet.bytes));
                due.push(Due::Out(left_ns + model.fill_ns(packet.bytes), packet));
            }
            Kind::Crossbar(crossbar) => crossbar.enter(model, now_ns, packet, due),
            Kind::Wormhole(routers) => routers.enter(now_ns, packet, due),
        }
    }

    /// Handles an event that was due.
    pub fn step(&mut self, now_ns: u64, step: FabricEvent, due: &mut Vec<Due>) {
        match (&mut self.kind, step) {
            (Kind::Crossbar(crossbar), FabricEvent::Ready(packet)) => {
                crossbar.leave(&self.model, now_ns, packet, due)
            }
            (Kind::Crossbar(crossbar), FabricEvent::AtPort(packet)) => {
                crossbar.at_port(&self.model, now_ns, packet, due)
            }
            (Kind::Wormhole(routers), FabricEvent::Send(channel)) => routers.send(now_ns, channel, due),
            (Kind::Wormhole(routers), FabricEvent::Routed(channel)) => routers.routed(now_ns, channel, due),
            _ => unreachable!("a step of another fabric"),
        }
    }

    /// Checks, for tests, the conditions that must hold at any time.
    pub fn check(&self) -> Result<(), String> {
        match &self.kind {
            Kind::Wormhole(routers) => routers.check(),
            Kind::Direct | Kind::Crossbar(_) => Ok(()),
        }
    }
}
