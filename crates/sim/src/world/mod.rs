//! A simulated network, or several: many ranks in one thread, on virtual time, from one seed.
//!
//! Owns the clock, the connections and the packets under way on them. The time of every packet is computed
//! from the [`Model`] and its [`Topology`]; room that a receiver gives back reaches the sender one latency
//! later. Links are ordered and reliable until they are lost ([`Cut`]). Equal seeds and equal calls give
//! equal worlds. A world never reads a clock, sleeps, or moves time by itself. The caller that drives the
//! ranks calls [`World::advance`] (or a rank's `sleep`) when none of them has anything left to do.
//!
//! ```text
//!   SimRail of rank 0 ─▶ Direction 0→1: cells under way, payload ring ─▶ Fabric ─▶ SimRail of rank 1
//!                    ◀─ room, one latency later ◀─
//! ```

mod agenda;
mod connection;
mod direction;
mod fabric;
mod model;
mod network;
mod rail;
mod random;
mod verbs;

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use canele_sys::ids::{LinkId, Rank, RegionId};

use agenda::{Agenda, Event};
use connection::{Connection, Pair, pair};
pub use connection::{Cut, When};
use direction::{Claimed, Direction};
use fabric::{Due, Fabric, SimPacket};
pub use model::{Model, Topology, Wormhole};
pub use network::SimNetwork;
pub use rail::SimRail;
pub use random::Random;
use verbs::WorldVerbs;

use canele_rail::Header;
use canele_rail::Region;

/// Ranks, links and a clock. Cheap to clone; all clones are one world.
#[derive(Clone)]
pub struct World(Rc<RefCell<State>>);

struct State {
    now_ns: u64,
    random: Random,
    networks: Vec<Network>,
    ranks: Vec<RankState>,
    regions: BTreeMap<(Rank, RegionId), Arc<Region>>,
    verbs: WorldVerbs,
    agenda: Agenda,
    due: Vec<Due>,
}

struct Network {
    model: Model,
    fabric: Fabric,
    /// The latest connection of each pair.
    connections: BTreeMap<Pair, Rc<Connection>>,
    /// The losses that wait for their packet.
    counting: Vec<Counting>,
    /// The number of packets that were sent over the network.
    packets: u64,
}

struct Counting {
    cut: Cut,
    packets: u64,
    bytes: u64,
}

/// The arrival of something at a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WorldEvent {
    /// The rank.
    pub rank: Rank,
    /// The link on which a packet has come; `None` if room, a loss or the end of a verb has arrived.
    pub packet: Option<LinkId>,
}

#[derive(Clone, Default)]
struct RankState {
    dead: bool,
    /// The connections that peers have opened to this rank and it has not accepted yet, in their order.
    arrived: VecDeque<Rc<Connection>>,
    /// The connections whose loss the rank may know of.
    noticed: Vec<Rc<Connection>>,
}

impl World {
    /// Makes a world of `ranks` ranks on one or more networks at time 0.
    ///
    /// # Panics
    /// Panics if a model cannot be simulated: see [`Model::check`].
    pub fn new(ranks: usize, models: &[Model], seed: u64) -> Self {
        let network = |model: &Model| {
            model.check().unwrap_or_else(|wrong| panic!("a network that cannot be: {wrong}"));
            let fabric = Fabric::new(*model, ranks);
            Network { model: *model, fabric, connections: BTreeMap::new(), counting: Vec::new(), packets: 0 }
        };
        Self(Rc::new(RefCell::new(State {
            now_ns: 0,
            random: Random(seed),
            networks: models.iter().map(network).collect(),
            ranks: vec![RankState::default(); ranks],
            regions: BTreeMap::new(),
            verbs: WorldVerbs::default(),
            agenda: Agenda::default(),
            due: Vec::new(),
        })))
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.0.borrow().ranks.len()
    }

    /// Returns the rail of one rank, with links over all networks. Call it once for each rank.
    pub fn rail(&self, rank: Rank) -> SimRail {
        assert!((rank.0 as usize) < self.ranks(), "{rank} in a world of {} ranks", self.ranks());
        SimRail::new(self.0.clone(), rank)
    }

    /// Returns the time.
    pub fn now_ns(&self) -> u64 {
        self.0.borrow().now_ns
    }

    /// Returns the time at which something will next happen somewhere.
    pub fn next_event_ns(&self) -> Option<u64> {
        self.0.borrow().agenda.next_ns()
    }

    /// Moves time to the next arrival of a packet, of room, of a loss or of a verb's end, and returns its
    /// rank; `None` if nothing is under way.
    pub fn advance(&self) -> Option<Rank> {
        Some(self.0.borrow_mut().advance_before(u64::MAX)?.rank)
    }

    /// Advances, as [`World::advance`] does, to an arrival before a time. Without one, it moves time to that
    /// time, unless it is `u64::MAX`.
    pub fn advance_before(&self, limit_ns: u64) -> Option<WorldEvent> {
        let mut state = self.0.borrow_mut();
        let news = state.advance_before(limit_ns);
        if news.is_none() && limit_ns < u64::MAX {
            state.now_ns = state.now_ns.max(limit_ns);
        }
        news
    }

    /// Returns the number of events so far: arrivals, and steps within the networks.
    pub fn events(&self) -> u64 {
        self.0.borrow().agenda.happened()
    }

    /// Returns the number of packets that have been sent over one of its networks.
    pub fn packets(&self, network: u8) -> u64 {
        self.0.borrow().networks[network as usize].packets
    }

    /// Moves time to `time_ns`, never back; every event due until then has happened.
    pub fn advance_to(&self, time_ns: u64) {
        self.0.borrow_mut().advance_to(time_ns);
    }

    /// Kills a rank: packets that it sends from now on, or has under way, never arrive. Packets that have
    /// arrived can be read.
    pub fn kill(&self, rank: Rank) {
        let mut state = self.0.borrow_mut();
        state.ranks[rank.0 as usize].dead = true;
        state.regions.retain(|(owner, _), _| *owner != rank);
        state.verbs.kill(rank);
        let connections = state.networks.iter().flat_map(|network| network.connections.values());
        let ways =
            connections.filter(|c| c.pair.0 == rank || c.pair.1 == rank).filter_map(|c| c.way_from(rank));
        ways.for_each(|way| way.cut(state.now_ns));
    }

    /// Returns true if the rank was killed.
    pub fn is_dead(&self, rank: Rank) -> bool {
        self.0.borrow().ranks[rank.0 as usize].dead
    }

    /// Plans the loss of a connection: packets under way are lost with it, both ways.
    pub fn cut(&self, cut: Cut) {
        let mut state = self.0.borrow_mut();
        match cut.when {
            When::At(at_ns) => state.agenda.put(at_ns, Event::Cut(cut)),
            When::Packets(_) | When::Bytes(_) => {
                let counting = Counting { cut, packets: 0, bytes: 0 };
                state.networks[cut.network as usize].counting.push(counting);
            }
        }
    }

    /// Checks, for tests, the conditions that must hold of the networks at any time.
    ///
    /// # Errors
    /// Fails with the condition that does not hold.
    pub fn check(&self) -> Result<(), String> {
        self.0.borrow().networks.iter().try_for_each(|network| network.fabric.check())
    }
}

impl State {
    fn advance_before(&mut self, limit_ns: u64) -> Option<WorldEvent> {
        while self.agenda.next_ns().is_some_and(|at_ns| at_ns < limit_ns) {
            let (at_ns, event) = self.agenda.pop()?;
            self.now_ns = self.now_ns.max(at_ns);
            if let Some(news) = self.happen(event) {
                return Some(news);
            }
        }
        None
    }

    fn advance_to(&mut self, time_ns: u64) {
        while self.agenda.next_ns().is_some_and(|at_ns| at_ns <= time_ns) {
            let Some((at_ns, event)) = self.agenda.pop() else { return };
            self.now_ns = self.now_ns.max(at_ns);
            self.happen(event);
        }
        self.now_ns = self.now_ns.max(time_ns);
    }

    /// Handles an event; returns the rank for which something has arrived, if there is one.
    fn happen(&mut self, event: Event) -> Option<WorldEvent> {
        match event {
            Event::Look(rank, link) => return Some(WorldEvent { rank, packet: Some(link) }),
            Event::Room(way, rank) => {
                way.learn(self.now_ns);
                return Some(WorldEvent { rank, packet: None });
            }
            Event::Step(network, step) => {
                self.networks[network as usize].fabric.step(self.now_ns, step, &mut self.due);
                self.plan(network);
            }
            Event::Cut(cut) => self.cut_now(&cut),
            Event::Notice(connection, rank) => {
                self.ranks[rank.0 as usize].noticed.push(connection);
                return Some(WorldEvent { rank, packet: None });
            }
            Event::VerbAtOwner(posted) => self.verb_at_owner(posted),
            Event::VerbEnded(posted) => {
                return Some(WorldEvent { rank: self.verb_ended(&posted), packet: None });
            }
        }
        None
    }

    fn is_dead(&self, rank: Rank) -> bool {
        self.ranks[rank.0 as usize].dead
    }

    /// Plans the events that follow in a fabric.
    fn plan(&mut self, network: u8) {
        for due in self.due.drain(..) {
            match due {
                Due::Step(at_ns, step) => self.agenda.put(at_ns, Event::Step(network, step)),
                Due::Out(at_ns, sim_packet) => {
                    let model = &self.networks[network as usize].model;
                    let late_ns = model.latency_ns + self.random.up_to(model.jitter_ns);
                    if let Some(at_ns) = sim_packet.way.arrive(sim_packet.number, at_ns + late_ns) {
                        self.agenda
                            .put(at_ns, Event::Look(sim_packet.to, LinkId::new(network, sim_packet.from)));
                    }
                }
            }
        }
    }

    /// Commits a packet of a rank.
    fn commit(
        &mut self,
        connection: &Connection,
        from: Rank,
        way: &Rc<Direction>,
        packet: (Header, Claimed),
    ) {
        if self.is_dead(from) {
            return;
        }
        let committed = way.commit(packet.0, packet.1);
        let (number, bytes, to) = (committed.number, committed.bytes, connection.other(from));
        let network = connection.network;
        if !connection.is_lost() {
            let sim_packet = SimPacket { way: way.clone(), number, bytes, from, to };
            self.networks[network as usize].packets += 1;
            self.networks[network as usize].fabric.enter(self.now_ns, sim_packet, &mut self.due);
            self.plan(network);
        }
        self.count(network, connection.pair, bytes);
    }

    /// Cuts the connections whose loss waited for this packet.
    fn count(&mut self, network: u8, pair: Pair, bytes: u64) {
        let is_due = |counting: &mut Counting| {
            if connection::pair(counting.cut.ends[0], counting.cut.ends[1]) != pair {
                return false;
            }
            counting.packets += 1;
            counting.bytes += bytes;
            match counting.cut.when {
                When::Packets(n) => counting.packets >= n,
                When::Bytes(n) => counting.bytes >= n,
                When::At(_) => false,
            }
        };
        let due: Vec<_> = self.networks[network as usize].counting.extract_if(.., is_due).collect();
        due.iter().for_each(|counting| self.cut_now(&counting.cut));
    }

    fn cut_now(&mut self, cut: &Cut) {
        let network = &self.networks[cut.network as usize];
        let connection = network.connections.get(&pair(cut.ends[0], cut.ends[1])).filter(|c| !c.is_lost());
        let Some(connection) = connection.cloned() else { return };
        connection.cut(self.now_ns);
        for (rank, notices_ns) in cut.ends.iter().zip(cut.notices_ns) {
            if let Some(later_ns) = notices_ns {
                self.agenda.put(self.now_ns + later_ns, Event::Notice(connection.clone(), *rank));
            }
        }
    }

    /// Opens the connection of a rank: the one that the other end has opened, or a new one.
    fn open(&mut self, network: u8, from: Rank, to: Rank) -> (Rc<Connection>, Rc<Direction>) {
        let at = &mut self.networks[network as usize];
        let latest = at.connections.get(&pair(from, to));
        let connection = match latest.filter(|connection| !connection.is_lost()) {
            Some(connection) => connection.clone(),
            None => {
                let generation = latest.map_or(0, |connection| connection.generation + 1);
                let connection = Rc::new(Connection::new(network, pair(from, to), generation));
                at.connections.insert(pair(from, to), connection.clone());
                connection
            }
        };
        let way = self.open_way(&connection, from);
        (connection, way)
    }

    /// Opens one direction of a connection, which the other end will accept.
    fn open_way(&mut self, connection: &Rc<Connection>, from: Rank) -> Rc<Direction> {
        let to = connection.other(from);
        self.ranks[to.0 as usize].arrived.push_back(connection.clone());
        connection.open(from, &self.networks[connection.network as usize].model)
    }

    /// Closes one end. The other end notices a latency later, unless the connection was lost before.
    fn close(&mut self, connection: &Rc<Connection>, by: Rank) {
        if !connection.is_lost() {
            connection.cut(self.now_ns);
            let latency_ns = self.networks[connection.network as usize].model.latency_ns;
            let event = Event::Notice(connection.clone(), connection.other(by));
            self.agenda.put(self.now_ns + latency_ns, event);
        }
    }
}
