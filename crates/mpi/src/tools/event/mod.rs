//! Events of tools (MPI 5.0, §15.3.8): events of the protocols, stored in a small ring until callbacks of
//! tools report them.
//!
//! ```text
//!   protocols ──▶ listener ──▶ ring ──(the program's thread, at the end of a call)──▶ functions of tools
//!                    │           └─ full: counted as dropped
//!                    └─ no registration for this kind: nothing
//! ```

mod registrations;
mod ring;

use canele_engine::choice::{self, Variant};
use canele_engine::{PeerEnd, ProtoEvent};

use super::Verbosity;

pub use registrations::{Callback, Dropped, Freed, Instance, ToolEvents};

/// The representation of an event's element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ElementKind {
    /// A number of 32 bits.
    Int,
    /// An unsigned number of 32 bits.
    Unsigned,
    /// An unsigned number of 64 bits.
    UnsignedLong,
}

impl ElementKind {
    /// Returns the element's size, which is also its alignment, in bytes.
    pub const fn size(self) -> usize {
        match self {
            Self::Int | Self::Unsigned => 4,
            Self::UnsignedLong => 8,
        }
    }
}

/// An element of an event.
#[derive(Debug)]
pub struct EventElement {
    /// The name of the element.
    pub name: &'static str,
    /// The representation of the element.
    pub kind: ElementKind,
}

/// A kind of event.
#[derive(Debug)]
pub struct EventKind {
    /// The name of the kind.
    pub name: &'static str,
    /// The meaning of the events.
    doc: &'static str,
    /// The elements of each event, in the order in which they are copied.
    pub elements: &'static [EventElement],
    /// The audience of the events.
    pub verbosity: Verbosity,
}

const fn int(name: &'static str) -> EventElement {
    EventElement { name, kind: ElementKind::Int }
}

const fn unsigned(name: &'static str) -> EventElement {
    EventElement { name, kind: ElementKind::Unsigned }
}

const fn long(name: &'static str) -> EventElement {
    EventElement { name, kind: ElementKind::UnsignedLong }
}

/// Largest number of elements of an event.
const MOST_ELEMENTS: usize = 4;

/// The kinds of events.
pub const TABLE: [EventKind; 4] = [
    EventKind {
        name: "unexpected_arrived",
        doc: "A message came that no receive had asked for: its sender in MPI_COMM_WORLD, its tag, the number of its flow (each communicator has two), its bytes",
        elements: &[int("source"), unsigned("tag"), unsigned("flow"), long("bytes")],
        verbosity: Verbosity::TunerBasic,
    },
    EventKind {
        name: "rail_lost",
        doc: "A link was lost: the peer in MPI_COMM_WORLD, the number of the rail",
        elements: &[int("peer"), int("rail")],
        verbosity: Verbosity::UserBasic,
    },
    EventKind {
        name: "rank_died",
        doc: "A rank does nothing more: its number in MPI_COMM_WORLD, and whether it died (0), cannot be reached (1), or accepts nothing from this rank (2)",
        elements: &[int("rank"), int("how")],
        verbosity: Verbosity::UserBasic,
    },
    EventKind {
        name: "protocol_chosen",
        doc: "This rank decided how a message travels that does not fit into one packet, or must wait for its receive: the other end in MPI_COMM_WORLD, the protocol, whether this rank sends (1) or receives (0), the bytes",
        elements: &[int("peer"), int("protocol"), int("is_sender"), long("bytes")],
        verbosity: Verbosity::TunerBasic,
    },
];

const UNEXPECTED_ARRIVED: usize = 0;
const RAIL_LOST: usize = 1;
const RANK_DIED: usize = 2;
const PROTOCOL_CHOSEN: usize = 3;

impl EventKind {
    /// Returns the kind's meaning, and that of the numbers in its elements.
    pub fn description(&self) -> String {
        if self.name != TABLE[PROTOCOL_CHOSEN].name {
            return self.doc.to_owned();
        }
        let rows = choice::TABLE.iter().enumerate();
        let protocols: Vec<_> = rows.map(|(number, row)| format!("{number} {}", row.name)).collect();
        format!("{}; protocols: {}", self.doc, protocols.join(", "))
    }

    /// Returns the offsets of its elements in a copy, in bytes.
    pub fn displacements(&self) -> Vec<usize> {
        let mut end = 0;
        let place = |element: &EventElement| {
            let at = usize::next_multiple_of(end, element.kind.size());
            end = at + element.kind.size();
            at
        };
        self.elements.iter().map(place).collect()
    }
}

/// An event that was raised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Raised {
    /// The kind of the event, an index into the table.
    pub kind: usize,
    /// The time at which it was raised ([`canele_sys::clock::monotonic_ns`]).
    pub at_ns: u64,
    /// The elements of the event, each in the lowest bits of a word.
    values: [u64; MOST_ELEMENTS],
}

impl Raised {
    /// Returns the index and the elements of an event of the protocols.
    fn of(event: ProtoEvent) -> (usize, [u64; MOST_ELEMENTS]) {
        match event {
            ProtoEvent::UnexpectedArrived { from, flow, tag, bytes } => {
                (UNEXPECTED_ARRIVED, [from.0.into(), tag.0.into(), flow.0.into(), bytes])
            }
            ProtoEvent::RailLost { peer, rail } => (RAIL_LOST, [peer.0.into(), rail.into(), 0, 0]),
            ProtoEvent::RankDied { peer, how } => (RANK_DIED, [peer.0.into(), how_it_ended(how), 0, 0]),
            ProtoEvent::ProtocolChosen { peer, bytes, variant, is_sender } => {
                (PROTOCOL_CHOSEN, [peer.0.into(), number_of(variant), is_sender.into(), bytes])
            }
        }
    }

    /// Returns the event's elements, each with its representation.
    pub fn elements(&self) -> impl Iterator<Item = (ElementKind, u64)> {
        TABLE[self.kind].elements.iter().map(|element| element.kind).zip(self.values)
    }
}

fn how_it_ended(how: PeerEnd) -> u64 {
    match how {
        PeerEnd::Finished | PeerEnd::Failed => 0,
        PeerEnd::Unreachable => 1,
        PeerEnd::CutOff => 2,
    }
}

fn number_of(variant: Variant) -> u64 {
    choice::TABLE.iter().position(|row| row.variant == variant).unwrap_or_default() as u64
}

#[cfg(test)]
mod tests {
    use canele_engine::{FlowId, Rank, Tag};

    use super::*;

    #[test]
    fn elements_lie_where_they_are_aligned() {
        assert_eq!(TABLE[UNEXPECTED_ARRIVED].displacements(), [0, 4, 8, 16]);
        assert_eq!(TABLE[RAIL_LOST].displacements(), [0, 4]);
        assert!(TABLE.iter().all(|kind| kind.elements.len() <= MOST_ELEMENTS));
        assert!(TABLE[PROTOCOL_CHOSEN].description().contains("4 eager-multi"));
    }

    #[test]
    fn what_the_protocols_tell_is_an_event_of_its_kind() {
        let event =
            ProtoEvent::UnexpectedArrived { from: Rank(3), flow: FlowId(8), tag: Tag(7), bytes: 1 << 40 };
        assert_eq!(Raised::of(event), (UNEXPECTED_ARRIVED, [3, 7, 8, 1 << 40]));
        assert_eq!(TABLE[UNEXPECTED_ARRIVED].name, "unexpected_arrived");
        let event = ProtoEvent::RankDied { peer: Rank(1), how: PeerEnd::CutOff };
        assert_eq!(Raised::of(event), (RANK_DIED, [1, 2, 0, 0]));
        assert_eq!(TABLE[RANK_DIED].name, "rank_died");
        let event = ProtoEvent::ProtocolChosen {
            peer: Rank(1),
            bytes: 9,
            variant: Variant::DirectRead,
            is_sender: true,
        };
        assert_eq!(Raised::of(event), (PROTOCOL_CHOSEN, [1, 6, 1, 9]));
        assert_eq!(TABLE[PROTOCOL_CHOSEN].name, "protocol_chosen");
        assert_eq!(Raised::of(ProtoEvent::RailLost { peer: Rank(2), rail: 3 }), (RAIL_LOST, [2, 3, 0, 0]));
        assert_eq!(TABLE[RAIL_LOST].name, "rail_lost");
    }
}
