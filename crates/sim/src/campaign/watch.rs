//! A rail that records the order in which messages reach its rank. All the rest of matching follows from that
//! order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use canele_mem::buffer::InShare;
use canele_proto::batch;
use canele_proto::wire::Kind;
use canele_rail::{Corrupt, FastPath, Header, OneSided, Packet, PeerCopy, Rail, Recoverable, Rma};
use canele_sys::ids::{LinkId, Rank};

use super::under::CampaignRail;
use crate::delegate::delegate;

/// The arrival of a message: its source and its header.
pub type Arrival = (Rank, Header);

/// A rail and the messages that came over it.
pub struct Watched {
    pub(super) rail: CampaignRail,
    polled: BTreeMap<LinkId, Vec<Header>>,
    /// The messages in the order in which they count as arrived, the oldest first.
    pub(super) arrivals: VecDeque<Arrival>,
    /// The number of the next message by source and flow, if messages are numbered. The next field holds
    /// messages that came before their turn.
    due: BTreeMap<(Rank, u32), u32>,
    early: BTreeMap<(Rank, u32, u32), Header>,
    /// The messages whose receive was found before all of their bytes had come, because the receiver gave
    /// their bulk a place.
    placed: BTreeSet<(Rank, u32, u32)>,
    /// The header of the packet that was shown last.
    shown: Option<Header>,
    /// Messages that came a second time.
    pub(super) twice: Vec<Arrival>,
}

impl Watched {
    /// Makes a rail over which nothing has come.
    pub(super) fn new(rail: CampaignRail) -> Self {
        Self {
            rail,
            polled: BTreeMap::new(),
            arrivals: VecDeque::new(),
            due: BTreeMap::new(),
            early: BTreeMap::new(),
            placed: BTreeSet::new(),
            shown: None,
            twice: Vec::new(),
        }
    }

    /// Notes that a message has come. If its number is due, it and the early messages that follow it count as
    /// arrived.
    fn came(&mut self, from: Rank, header: Header, numbered: bool) {
        if !numbered {
            return self.arrivals.push_back((from, header));
        }
        let due = self.due.entry((from, header.flow)).or_default();
        let number = header.sequence;
        let old = number.wrapping_sub(*due) >= 1 << 31;
        if old || self.early.insert((from, header.flow, number), header).is_some() {
            return self.twice.push((from, header));
        }
        while let Some(header) = self.early.remove(&(from, header.flow, *due)) {
            self.arrivals.push_back((from, header));
            *due = due.wrapping_add(1);
        }
    }
}

/// Returns the headers in a packet that are messages, or requests to give a message back.
fn messages(packet: &Packet<'_>) -> Vec<Header> {
    let is_message = |header: &Header| {
        use Kind::*;
        matches!(Kind::of(header), Some(Short | Eager | Rts | EagerFirst | Withdraw))
    };
    let parts = match Kind::of(&packet.header) {
        Some(Kind::Batch) => batch::Reader::new(packet.bulk).flatten().map(|part| part.header).collect(),
        _ => vec![packet.header],
    };
    parts.into_iter().filter(is_message).collect()
}

impl Rail for Watched {
    delegate!(rail: caps speed link incoming disconnect claim commit begin_pass flush arm sleep);

    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt> {
        let packet = self.rail.poll(link)?;
        if let Some(packet) = &packet {
            self.polled.insert(link, messages(packet));
        }
        Ok(packet)
    }

    fn release(&mut self, link: LinkId) {
        let numbered = self.rail.caps(link).needs_numbers();
        for header in self.polled.remove(&link).expect("release comes after poll") {
            if !self.placed.remove(&(link.peer(), header.flow, header.sequence)) {
                self.came(link.peer(), header, numbered);
            }
        }
        self.rail.release(link);
    }
}

impl FastPath for Watched {
    fn asks_for_place(&mut self, link: LinkId) -> bool {
        self.rail.asks_for_place(link)
    }

    fn peek_bulk(&mut self, link: LinkId) -> Option<(Packet<'_>, usize)> {
        let peeked = self.rail.peek_bulk(link);
        self.shown = peeked.as_ref().map(|(packet, _)| packet.header);
        peeked
    }

    fn direct_receive(&mut self, link: LinkId, place: InShare) {
        let header = self.shown.take().expect("direct_receive comes after peek_bulk");
        let message = (link.peer(), header.flow, header.sequence);
        if Kind::of(&header) == Some(Kind::Eager) && self.placed.insert(message) {
            let numbered = self.rail.caps(link).needs_numbers();
            self.came(link.peer(), header, numbered);
        }
        self.rail.direct_receive(link, place);
    }
}

impl OneSided for Watched {
    delegate!(rail: memory_link reach own chunk_counter);
}

impl Rma for Watched {
    delegate!(rail: has_verbs register deregister post_verb take_completion);
}

impl PeerCopy for Watched {
    delegate!(rail: prefers_peer_copy note_offer prefers_both_ends copy_from_peer can_copy_to_peer copy_to_peer);
}

impl Recoverable for Watched {
    delegate!(rail: generation take_lost close_link);
}
