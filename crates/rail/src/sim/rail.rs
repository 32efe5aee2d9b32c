//! The rail of one simulated rank.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use canele_sys::buffer::Place;
use canele_sys::ids::{LinkId, Rank, RegionId};
use canele_sys::segment::SegmentError;

use super::State;
use super::way::Way;
use crate::shm::{Region, Regions};
use crate::{Armed, Busy, Caps, Class, Corrupt, Header, Packet, Rail, Reach, Slot, Tally, Window};

/// The rail of one rank of a [`super::World`]. It keeps the world alive.
pub struct SimRail {
    world: Rc<RefCell<State>>,
    me: Rank,
    caps: Caps,
    links: BTreeMap<LinkId, Link>,
    incoming: Vec<LinkId>,
    regions: Regions,
    /// How often each peer's region will still be `Wanted`.
    misses: BTreeMap<(Rank, RegionId), u64>,
}

#[derive(Default)]
struct Link {
    outgoing: Option<Rc<Way>>,
    incoming: Option<Rc<Way>>,
}

impl SimRail {
    pub(super) fn new(world: Rc<RefCell<State>>, me: Rank) -> Self {
        let model = world.borrow().model;
        let caps = Caps {
            name: "sim",
            latency_ns: u32::try_from(model.latency_ns + model.overhead_ns).unwrap_or(u32::MAX),
            bytes_per_us: u32::try_from(model.bytes_per_us).unwrap_or(u32::MAX),
            max_bulk: model.payload / 4,
            overhead_ns: u32::try_from(model.overhead_ns).unwrap_or(u32::MAX),
            best_packet: model.payload / 4,
            ordered: true,
            numbered: false,
            lends: false,
            reliable: true,
            one_sided: true,
        };
        let regions = Regions::default();
        Self {
            world,
            me,
            caps,
            links: BTreeMap::new(),
            incoming: Vec::new(),
            regions,
            misses: BTreeMap::new(),
        }
    }

    /// Opens the way to a peer, who sees it with its next [`SimRail::accept`].
    pub fn open_link(&mut self, peer: Rank) -> LinkId {
        let link = LinkId::new(0, peer);
        let outgoing = &mut self.links.entry(link).or_default().outgoing;
        if outgoing.is_none() {
            let mut world = self.world.borrow_mut();
            let way = Rc::new(Way::new(world.model));
            world.ranks[peer.0 as usize].arrived.push(self.me);
            world.ways.insert((self.me, peer), way.clone());
            *outgoing = Some(way);
        }
        link
    }

    /// Notices who has opened a link to this rank since the last call.
    pub fn accept(&mut self) {
        let mut world = self.world.borrow_mut();
        for peer in std::mem::take(&mut world.ranks[self.me.0 as usize].arrived) {
            let link = LinkId::new(0, peer);
            self.links.entry(link).or_default().incoming = world.ways.get(&(peer, self.me)).cloned();
            if !self.incoming.contains(&link) {
                self.incoming.push(link);
            }
        }
    }

    /// Allocates a region that peers can reach.
    ///
    /// # Errors
    /// As [`Regions::create`].
    pub fn create_region(&mut self, bytes: usize) -> Result<Arc<Region>, SegmentError> {
        let region = self.regions.create(bytes)?;
        self.world.borrow_mut().regions.insert((self.me, region.id()), region.clone());
        Ok(region)
    }

    /// Forgets a region; transfers under way still hold it.
    pub fn drop_region(&mut self, id: RegionId) {
        self.regions.drop_own(id);
        self.world.borrow_mut().regions.remove(&(self.me, id));
    }

    fn now_ns(&self) -> u64 {
        self.world.borrow().now_ns
    }

    fn outgoing(&self, link: LinkId) -> Option<&Rc<Way>> {
        self.links.get(&link)?.outgoing.as_ref()
    }

    fn incoming_way(&self, link: LinkId) -> Option<&Rc<Way>> {
        self.links.get(&link)?.incoming.as_ref()
    }
}

impl Rail for SimRail {
    fn caps(&self, _link: LinkId) -> &Caps {
        &self.caps
    }

    fn link(&self, peer: Rank) -> Option<LinkId> {
        self.outgoing(LinkId::new(0, peer)).map(|_| LinkId::new(0, peer))
    }

    fn peer(&self, link: LinkId) -> Rank {
        link.peer()
    }

    fn incoming(&self) -> &[LinkId] {
        &self.incoming
    }

    fn disconnect(&mut self, link: LinkId) {
        self.incoming.retain(|l| *l != link);
        self.links.remove(&link);
        self.world.borrow_mut().ways.remove(&(self.me, link.peer()));
        self.regions.forget(link.peer(), None);
    }

    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        let now_ns = self.now_ns();
        self.outgoing(link).ok_or(Busy)?.claim(now_ns, bulk, class)
    }

    fn commit(&mut self, link: LinkId, header: Header) {
        let way = self.outgoing(link).expect("commit on an open link");
        let mut world = self.world.borrow_mut();
        if world.is_dead(self.me) {
            return way.swallow();
        }
        let most = world.model.jitter_ns;
        let jitter_ns = world.random.up_to(most);
        let at = way.commit(world.now_ns, jitter_ns, header);
        world.put_event(at, link.peer());
    }

    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt> {
        let now_ns = self.now_ns();
        Ok(self.incoming_way(link).and_then(|way| way.poll(now_ns)))
    }

    fn release(&mut self, link: LinkId) {
        let way = self.incoming_way(link).expect("release on a link with packets");
        let mut world = self.world.borrow_mut();
        let at = way.release(world.now_ns);
        world.put_event(at, link.peer());
    }

    fn reach(&mut self, link: LinkId, place: Place, len: usize) -> Reach<'_> {
        let (peer, id) = (link.peer(), place.region);
        let mut world = self.world.borrow_mut();
        let Some(region) = world.regions.get(&(peer, id)).cloned() else {
            self.regions.forget(peer, Some(id));
            return Reach::Refused;
        };
        let end = usize::try_from(place.offset).ok().and_then(|offset| offset.checked_add(len));
        if end.is_none_or(|end| end > region.len()) {
            return Reach::Refused;
        }
        if self.regions.map(peer, id).is_none() {
            let most = world.model.region_misses.into();
            let left = self.misses.entry((peer, id)).or_insert_with(|| world.random.up_to(most));
            if *left > 0 {
                *left -= 1;
                return Reach::Wanted;
            }
            self.regions.adopt(peer, id, region.fd().try_clone_to_owned().ok());
        }
        drop(world);
        self.regions.reach(peer, place, len)
    }

    fn own(&mut self, place: Place, len: usize) -> Option<Window<'_>> {
        self.regions.own(place.region)?.window(usize::try_from(place.offset).ok()?, len)
    }

    fn tally(&mut self, link: LinkId, mine: bool, index: usize) -> Option<&Tally> {
        let way = if mine { self.incoming_way(link) } else { self.outgoing(link) };
        way.map(|way| &way.tallies[index])
    }

    fn arm(&mut self) -> Armed {
        let now_ns = self.now_ns();
        let came = !self.world.borrow().ranks[self.me.0 as usize].arrived.is_empty()
            || self.links.values().filter_map(|l| l.incoming.as_ref()).any(|way| way.has_arrived(now_ns))
            || self.links.values().filter_map(|l| l.outgoing.as_ref()).any(|way| way.room_came(now_ns));
        if came { Armed::Work } else { Armed::Ready }
    }

    /// Moves the world's time to the next event, whoever it is for, or by `at_most`.
    fn sleep(&mut self, at_most: Option<Duration>) {
        let mut world = self.world.borrow_mut();
        let now_ns = world.now_ns;
        world.advance_to(now_ns);
        let limit =
            at_most.map(|time| now_ns.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)));
        let event = world.events.peek().map(|Reverse((at, ..))| *at);
        if let Some(wake) = event.into_iter().chain(limit).min() {
            world.now_ns = wake;
        }
    }
}
