//! Future events in order of time; events at one time happen in the order in which they were planned.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use canele_sys::ids::{LinkId, Rank};

use super::connection::{Connection, Cut};
use super::direction::Direction;
use super::fabric::FabricEvent;
use super::verbs::PostedVerb;

/// Something that happens.
pub enum Event {
    /// A packet arrives at a rank, on a link.
    Look(Rank, LinkId),
    /// Room on a direction of a connection arrives at a rank.
    Room(Rc<Direction>, Rank),
    /// A step happens in the fabric of a network.
    Step(u8, FabricEvent),
    /// A connection is lost.
    Cut(Cut),
    /// A rank hears of the loss of a connection.
    Notice(Rc<Connection>, Rank),
    /// A verb arrives at the owner of its memory.
    VerbAtOwner(Rc<PostedVerb>),
    /// A verb has ended, and its origin learns of it.
    VerbEnded(Rc<PostedVerb>),
}

struct Planned {
    at_ns: u64,
    order: u64,
    event: Event,
}

impl Planned {
    fn key(&self) -> Reverse<(u64, u64)> {
        Reverse((self.at_ns, self.order))
    }
}

impl PartialEq for Planned {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Planned {}

impl PartialOrd for Planned {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Planned {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// All planned events.
#[derive(Default)]
pub struct Agenda {
    planned: BinaryHeap<Planned>,
    orders: u64,
}

impl Agenda {
    pub fn put(&mut self, at_ns: u64, event: Event) {
        self.planned.push(Planned { at_ns, order: self.orders, event });
        self.orders += 1;
    }

    /// Returns the number of events that have been taken.
    pub fn happened(&self) -> u64 {
        self.orders - self.planned.len() as u64
    }

    pub fn next_ns(&self) -> Option<u64> {
        self.planned.peek().map(|planned| planned.at_ns)
    }

    pub fn pop(&mut self) -> Option<(u64, Event)> {
        self.planned.pop().map(|planned| (planned.at_ns, planned.event))
    }
}
