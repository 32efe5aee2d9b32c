//! A rail that notes in which order messages reach its rank: the only thing about matching that is not determined.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use canele_proto::train;
use canele_proto::wire::Kind;
use canele_rail::{
    Armed, Busy, Caps, Class, Corrupt, Header, Lost, Packet, Rail, Reach, Remains, Slot, Speed, Tally, Window,
};
use canele_sys::buffer::Place;
use canele_sys::ids::{LinkId, Rank};

use super::under::Under;

/// A message has come: from whom, and its header.
pub type Arrival = (Rank, Header);

/// A rail and what came over it.
pub struct Watched {
    pub(super) rail: Under,
    polled: BTreeMap<LinkId, Vec<Header>>,
    /// Messages whose turn it was, oldest first.
    pub(super) arrivals: VecDeque<Arrival>,
    /// Where messages are numbered: the number that is due by source and flow, and what has come before its turn.
    due: BTreeMap<(Rank, u32), u32>,
    early: BTreeMap<(Rank, u32, u32), Header>,
    /// Messages that came a second time.
    pub(super) twice: Vec<Arrival>,
}

impl Watched {
    /// Nothing has come.
    pub(super) fn new(rail: Under) -> Self {
        Self {
            rail,
            polled: BTreeMap::new(),
            arrivals: VecDeque::new(),
            due: BTreeMap::new(),
            early: BTreeMap::new(),
            twice: Vec::new(),
        }
    }

    /// A message has come; its turn, and that of those behind it, may be now.
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

/// The headers of the messages in a packet, and of what wants one back.
fn messages(packet: &Packet<'_>) -> Vec<Header> {
    let is_message = |header: &Header| {
        use Kind::*;
        matches!(Kind::of(header), Some(Short | Eager | Rts | Ahead | Withdraw))
    };
    let parts = match Kind::of(&packet.header) {
        Some(Kind::Train) => train::Reader::new(packet.bulk).flatten().map(|part| part.header).collect(),
        _ => vec![packet.header],
    };
    parts.into_iter().filter(is_message).collect()
}

impl Rail for Watched {
    fn caps(&self, link: LinkId) -> &Caps {
        self.rail.caps(link)
    }
    fn speed(&self, link: LinkId) -> Speed {
        self.rail.speed(link)
    }
    fn generation(&self, link: LinkId) -> u32 {
        self.rail.generation(link)
    }
    fn link(&self, peer: Rank) -> Option<LinkId> {
        self.rail.link(peer)
    }
    fn peer(&self, link: LinkId) -> Rank {
        self.rail.peer(link)
    }
    fn incoming(&self) -> &[LinkId] {
        self.rail.incoming()
    }
    fn take_lost(&mut self) -> Option<Lost> {
        self.rail.take_lost()
    }
    fn bury(&mut self, link: LinkId) -> Option<Remains> {
        self.rail.bury(link)
    }
    fn disconnect(&mut self, link: LinkId) {
        self.rail.disconnect(link);
    }
    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        self.rail.claim(link, bulk, class)
    }
    fn commit(&mut self, link: LinkId, header: Header) {
        self.rail.commit(link, header);
    }
    fn begin_pass(&mut self) {
        self.rail.begin_pass();
    }
    fn flush(&mut self) -> bool {
        self.rail.flush()
    }
    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt> {
        let packet = self.rail.poll(link)?;
        if let Some(packet) = &packet {
            self.polled.insert(link, messages(packet));
        }
        Ok(packet)
    }
    fn release(&mut self, link: LinkId) {
        let numbered = self.rail.caps(link).numbered;
        for header in self.polled.remove(&link).expect("release comes after poll") {
            self.came(link.peer(), header, numbered);
        }
        self.rail.release(link);
    }
    fn reach(&mut self, link: LinkId, place: Place, len: usize) -> Reach<'_> {
        self.rail.reach(link, place, len)
    }
    fn own(&mut self, place: Place, len: usize) -> Option<Window<'_>> {
        self.rail.own(place, len)
    }
    fn tally(&mut self, link: LinkId, mine: bool, index: usize) -> Option<&Tally> {
        self.rail.tally(link, mine, index)
    }
    fn arm(&mut self) -> Armed {
        self.rail.arm()
    }
    fn sleep(&mut self, at_most: Option<Duration>) {
        self.rail.sleep(at_most);
    }
}
