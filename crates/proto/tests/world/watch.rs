//! A rail that notes in which order messages reach its rank: the only thing about matching that is not determined.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use canele_proto::wire::Kind;
use canele_rail::sim::SimRail;
use canele_rail::{Armed, Busy, Caps, Class, Corrupt, Header, Packet, Rail, Reach, Slot, Tally, Window};
use canele_sys::buffer::Place;
use canele_sys::ids::{LinkId, Rank};

/// A message has come: from whom, and its header.
pub type Arrival = (Rank, Header);

pub struct Watched {
    pub sim: SimRail,
    polled: BTreeMap<LinkId, Header>,
    pub arrivals: VecDeque<Arrival>,
}

impl Watched {
    pub fn new(sim: SimRail) -> Self {
        Self { sim, polled: BTreeMap::new(), arrivals: VecDeque::new() }
    }
}

impl Rail for Watched {
    fn caps(&self, link: LinkId) -> &Caps {
        self.sim.caps(link)
    }
    fn link(&self, peer: Rank) -> Option<LinkId> {
        self.sim.link(peer)
    }
    fn peer(&self, link: LinkId) -> Rank {
        self.sim.peer(link)
    }
    fn incoming(&self) -> &[LinkId] {
        self.sim.incoming()
    }
    fn disconnect(&mut self, link: LinkId) {
        self.sim.disconnect(link);
    }
    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        self.sim.claim(link, bulk, class)
    }
    fn commit(&mut self, link: LinkId, header: Header) {
        self.sim.commit(link, header);
    }
    fn flush(&mut self) {
        self.sim.flush();
    }
    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt> {
        let packet = self.sim.poll(link)?;
        if let Some(packet) = &packet {
            self.polled.insert(link, packet.header);
        }
        Ok(packet)
    }
    fn release(&mut self, link: LinkId) {
        let header = self.polled.remove(&link).expect("release comes after poll");
        if matches!(Kind::of(&header), Some(Kind::Short | Kind::Eager | Kind::Rts)) {
            self.arrivals.push_back((self.sim.peer(link), header));
        }
        self.sim.release(link);
    }
    fn reach(&mut self, link: LinkId, place: Place, len: usize) -> Reach<'_> {
        self.sim.reach(link, place, len)
    }
    fn own(&mut self, place: Place, len: usize) -> Option<Window<'_>> {
        self.sim.own(place, len)
    }
    fn tally(&mut self, link: LinkId, mine: bool, index: usize) -> Option<&Tally> {
        self.sim.tally(link, mine, index)
    }
    fn arm(&mut self) -> Armed {
        self.sim.arm()
    }
    fn sleep(&mut self, at_most: Option<Duration>) {
        self.sim.sleep(at_most);
    }
}
