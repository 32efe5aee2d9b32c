//! The rail of one simulated rank: its links over all networks of the world.

mod memory;
mod shown;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use canele_sys::ids::{LinkId, Rank, RegionId};
use canele_sys::segment::SegmentError;

use super::State;
use super::agenda::Event;
use super::connection::Connection;
use super::direction::{Claimed, Direction, Front, NOTHING_EXPECTED};
use super::verbs::PostedVerb;
use canele_mem::buffer::InShare;
use canele_rail::{
    Armed, Busy, Caps, Class, Corrupt, FastPath, Header, Lost, Packet, Rail, Recoverable, Region, Regions,
    Slot, Speed, Unacked, VerbError,
};
use shown::Shown;

/// The rail of one rank of a [`super::World`]. It keeps the world alive.
pub struct SimRail {
    world: Rc<RefCell<State>>,
    me: Rank,
    /// The capabilities of each network.
    caps: Vec<Caps>,
    busies: Vec<bool>,
    shows: Vec<bool>,
    /// True if a poll since the last flush has found a packet whose bulk had not come yet.
    moved: bool,
    links: BTreeMap<LinkId, Link>,
    /// The packet that was polled last.
    front: Front,
    incoming: Vec<LinkId>,
    lost: VecDeque<Lost>,
    /// The latest generation of each link that was closed here.
    closed: BTreeMap<LinkId, u32>,
    regions: Regions,
    /// The number of times that each region of a peer is still reported as `Wanted`.
    misses: BTreeMap<(Rank, RegionId), u64>,
}

struct Link {
    connection: Rc<Connection>,
    outgoing: Option<Rc<Direction>>,
    incoming: Option<Rc<Direction>>,
    /// The packet that is being filled.
    claimed: Option<Box<Claimed>>,
    /// True if a packet was committed in this pass and the network's model is [`busy`](super::Model::busy).
    busy: bool,
    /// True if the rank has noticed the loss of the link.
    lost: bool,
    /// The verbs that may be under way.
    verbs: Vec<Rc<PostedVerb>>,
    /// The state of the oldest incoming packet, if its bulk comes after its head.
    shown: Option<Shown>,
}

impl SimRail {
    pub(super) fn new(world: Rc<RefCell<State>>, me: Rank) -> Self {
        let state = world.borrow();
        let caps = state.networks.iter().map(|network| network.model.caps()).collect();
        let busies = state.networks.iter().map(|network| network.model.busy).collect();
        let shows = state.networks.iter().map(|network| network.model.shows_bulk).collect();
        drop(state);
        Self {
            world,
            me,
            caps,
            busies,
            shows,
            moved: false,
            links: BTreeMap::new(),
            front: Front::default(),
            incoming: Vec::new(),
            lost: VecDeque::new(),
            closed: BTreeMap::new(),
            regions: Regions::default(),
            misses: BTreeMap::new(),
        }
    }

    /// Opens this rank's direction to a peer over a network. The peer sees it at its next
    /// [`SimRail::accept`]. A lost link must be closed before it can be opened again.
    pub fn open_link(&mut self, network: u8, peer: Rank) -> LinkId {
        let id = LinkId::new(network, peer);
        self.accept();
        let mut world = self.world.borrow_mut();
        let Some(link) = self.links.get_mut(&id) else {
            let (connection, way) = world.open(network, self.me, peer);
            self.links.insert(id, Link { outgoing: Some(way), ..Link::on(connection) });
            return id;
        };
        if link.outgoing.is_none() {
            link.outgoing = Some(world.open_way(&link.connection, self.me));
        }
        id
    }

    /// Notes the links that peers have opened to this rank since the last call. If a peer has opened a new
    /// connection and this end still has the old one, this end learns that the old one is lost.
    pub fn accept(&mut self) {
        let mut world = self.world.borrow_mut();
        let mut later = VecDeque::new();
        for connection in std::mem::take(&mut world.ranks[self.me.0 as usize].arrived) {
            let peer = connection.other(self.me);
            let id = LinkId::new(connection.network, peer);
            if self.closed.get(&id).is_some_and(|closed| connection.generation <= *closed) {
                continue; // Its other direction comes too late.
            }
            let link = self.links.entry(id).or_insert_with(|| Link::on(connection.clone()));
            if !Rc::ptr_eq(&link.connection, &connection) {
                link.notice(id, "the other end has opened it again", &mut self.lost);
                later.push_back(connection);
                continue;
            }
            link.incoming = connection.way_from(peer);
            if connection.is_lost() {
                link.notice(id, "it was lost before it was accepted", &mut self.lost);
            }
            if !self.incoming.contains(&id) {
                self.incoming.push(id);
            }
        }
        world.ranks[self.me.0 as usize].arrived = later;
    }

    /// Notices the losses that this rank has come to know of.
    fn notice(&mut self) {
        for connection in std::mem::take(&mut self.world.borrow_mut().ranks[self.me.0 as usize].noticed) {
            let id = LinkId::new(connection.network, connection.other(self.me));
            if let Some(link) = self.links.get_mut(&id)
                && Rc::ptr_eq(&link.connection, &connection)
            {
                link.notice(id, "it carries nothing more", &mut self.lost);
            }
        }
    }

    /// Allocates a region that peers can reach.
    ///
    /// # Errors
    /// Fails as [`Regions::create`] does.
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

    /// Returns the rank that has this rail.
    pub fn me(&self) -> Rank {
        self.me
    }

    /// Returns true if packets of a link wait for the peer to take them.
    pub fn has_unacknowledged(&self, link: LinkId) -> bool {
        let now_ns = self.now_ns();
        self.outgoing(link).is_some_and(|way| way.has_unacknowledged(now_ns))
    }

    /// Reports to every peer that this rank has finished, and closes its links.
    pub fn finish(&mut self) {
        for (_, link) in std::mem::take(&mut self.links) {
            link.connection.finish();
            self.world.borrow_mut().close(&link.connection, self.me);
        }
        self.incoming.clear();
    }

    pub(super) fn is_living(&self, rank: Rank) -> bool {
        let world = self.world.borrow();
        world.ranks.get(rank.0 as usize).is_some_and(|state| !state.dead)
    }

    pub(super) fn now_ns(&self) -> u64 {
        self.world.borrow().now_ns
    }

    fn outgoing(&self, link: LinkId) -> Option<&Rc<Direction>> {
        self.links.get(&link)?.outgoing.as_ref()
    }

    fn incoming_way(&self, link: LinkId) -> Option<&Rc<Direction>> {
        self.links.get(&link)?.incoming.as_ref()
    }

    fn has_regions(&self, link: LinkId) -> bool {
        self.caps[link.rail() as usize].maps_regions
    }
}

impl Link {
    fn on(connection: Rc<Connection>) -> Self {
        Self {
            connection,
            outgoing: None,
            incoming: None,
            claimed: None,
            busy: false,
            lost: false,
            verbs: Vec::new(),
            shown: None,
        }
    }

    fn notice(&mut self, id: LinkId, why: &str, lost: &mut VecDeque<Lost>) {
        if !std::mem::replace(&mut self.lost, true) {
            let finished = self.connection.is_finished();
            lost.push_back(Lost { link: id, why: why.into(), finished });
        }
    }
}

impl Rail for SimRail {
    fn caps(&self, link: LinkId) -> &Caps {
        &self.caps[link.rail() as usize]
    }

    fn speed(&self, link: LinkId) -> Speed {
        let caps = self.caps(link);
        let under_way = self.outgoing(link).map_or(0, |way| way.under_way(self.now_ns()));
        Speed { round_trip_ns: 2 * caps.latency_ns, bytes_per_us: caps.bytes_per_us, under_way }
    }

    fn link(&self, peer: Rank) -> Option<LinkId> {
        let links = (0..self.caps.len() as u8).map(|network| LinkId::new(network, peer));
        links.into_iter().find(|link| self.outgoing(*link).is_some())
    }

    fn incoming(&self) -> &[LinkId] {
        &self.incoming
    }

    fn disconnect(&mut self, link: LinkId) {
        self.close_link(link);
    }

    fn claim(&mut self, link: LinkId, bulk: usize, class: Class) -> Result<Slot<'_>, Busy> {
        let now_ns = self.now_ns();
        let at = self.links.get_mut(&link).filter(|at| !at.busy && !at.lost).ok_or(Busy)?;
        let claimed = at.outgoing.as_ref().ok_or(Busy)?.claim(now_ns, bulk, class)?;
        Ok(at.claimed.insert(Box::new(claimed)).slot())
    }

    fn commit(&mut self, link: LinkId, header: Header) {
        let at = self.links.get_mut(&link).expect("commit on an open link");
        let way = at.outgoing.as_ref().expect("commit on an open link");
        at.busy = self.busies[link.rail() as usize];
        let claimed = at.claimed.take().expect("commit without claim");
        self.world.borrow_mut().commit(&at.connection, self.me, way, (header, *claimed));
    }

    fn poll(&mut self, link: LinkId) -> Result<Option<Packet<'_>>, Corrupt> {
        let now_ns = self.now_ns();
        let shows = self.shows[link.rail() as usize];
        let Some(at) = self.links.get_mut(&link) else { return Ok(None) };
        let Some(way) = at.incoming.as_ref().filter(|way| way.poll(now_ns, &mut self.front)) else {
            return Ok(None);
        };
        let lost = at.connection.is_lost() && !at.connection.is_finished();
        let here =
            !shows || Shown::of(&mut at.shown, way.expected(), &self.front).look(lost, &mut self.front);
        self.moved |= !here && !lost;
        Ok(here.then(|| self.front.packet()))
    }

    fn release(&mut self, link: LinkId) {
        let way = self.incoming_way(link).expect("release on a link with packets");
        let mut world = self.world.borrow_mut();
        let then_ns = world.now_ns + world.networks[link.rail() as usize].model.latency_ns;
        if way.release(world.now_ns, then_ns) {
            world.agenda.put(then_ns, Event::Room(way.clone(), link.peer()));
        }
    }

    fn begin_pass(&mut self) {
        self.links.values_mut().for_each(|link| link.busy = false);
        self.notice();
    }

    fn flush(&mut self) -> bool {
        std::mem::take(&mut self.moved)
    }

    fn arm(&mut self) -> Armed {
        self.notice();
        let now_ns = self.now_ns();
        let new = |connection: &Rc<Connection>| {
            let link = self.links.get(&LinkId::new(connection.network, connection.other(self.me)));
            link.is_none_or(|link| !link.lost || Rc::ptr_eq(&link.connection, connection))
        };
        let came = !self.lost.is_empty()
            || self.world.borrow().verbs.has_completed(self.me)
            || self.world.borrow().ranks[self.me.0 as usize].arrived.iter().any(new)
            || self.links.values().filter_map(|l| l.incoming.as_ref()).any(|way| way.has_arrived(now_ns))
            || self.links.values().filter_map(|l| l.outgoing.as_ref()).any(|way| way.room_came(now_ns));
        if came { Armed::Work } else { Armed::Ready }
    }

    /// Moves the world's time to the next event, of any rank, or by `at_most`.
    fn sleep(&mut self, at_most: Option<Duration>) {
        let mut world = self.world.borrow_mut();
        let now_ns = world.now_ns;
        world.advance_to(now_ns);
        let limit =
            at_most.map(|time| now_ns.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)));
        let event = world.agenda.next_ns();
        if let Some(wake_ns) = event.into_iter().chain(limit).min() {
            world.advance_to(wake_ns);
        }
    }
}

impl FastPath for SimRail {
    fn has_room(&mut self, link: LinkId, packets: usize, bulk: usize) -> bool {
        let now_ns = self.now_ns();
        let free = !self.busies[link.rail() as usize];
        let at = self.links.get(&link).filter(|at| free && !at.busy && !at.lost);
        at.and_then(|at| at.outgoing.as_ref()).is_some_and(|way| way.has_room(now_ns, packets, bulk))
    }

    fn asks_for_place(&mut self, link: LinkId) -> bool {
        self.shown(link).is_some_and(|shown| shown.asks())
    }

    fn peek_bulk(&mut self, link: LinkId) -> Option<(Packet<'_>, usize)> {
        let shown = self.shown(link).filter(|shown| shown.asks())?;
        shown.show();
        let len = self.front.bulk.len();
        self.front.bulk.clear();
        Some((self.front.packet(), len))
    }

    fn direct_receive(&mut self, link: LinkId, place: InShare) {
        self.shown(link).expect("direct_receive comes after peek_bulk").put(place);
    }
}

impl SimRail {
    /// Returns the oldest packet of a link whose head is here, in front.
    fn shown(&mut self, link: LinkId) -> Option<&mut Shown> {
        let now_ns = self.now_ns();
        let at = self.links.get_mut(&link).filter(|_| self.shows[link.rail() as usize])?;
        let way = at.incoming.as_ref().filter(|way| way.poll(now_ns, &mut self.front))?;
        Some(Shown::of(&mut at.shown, way.expected(), &self.front))
    }
}

impl Recoverable for SimRail {
    fn generation(&self, link: LinkId) -> u32 {
        self.links.get(&link).map_or(0, |link| link.connection.generation)
    }

    fn take_lost(&mut self) -> Option<Lost> {
        self.notice();
        self.lost.pop_front()
    }

    fn close_link(&mut self, link: LinkId) -> Option<Unacked> {
        let at = self.links.remove(&link)?;
        self.closed.insert(link, at.connection.generation);
        self.incoming.retain(|l| *l != link);
        self.lost.retain(|lost| lost.link != link);
        self.regions.forget(link.peer(), None);
        let mut world = self.world.borrow_mut();
        world.close(&at.connection, self.me);
        for posted in at.verbs {
            world.verbs.complete(self.me, posted.end(Err(VerbError::LinkLost)));
        }
        Some(Unacked {
            generation: at.connection.generation,
            expected: at.incoming.map_or(NOTHING_EXPECTED, |way| way.expected()),
            kept: at.outgoing.map(|way| way.kept(world.now_ns)).unwrap_or_default(),
        })
    }
}
