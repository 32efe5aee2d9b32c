//! Ranks with their protocols and rails in one world, driven by hand: links that open late or again, passes,
//! deaths. Only this file knows how an owner of rails serves [`Proto`].

use std::sync::{Arc, Mutex};

use crate::world::{Cut, Model, World};
use canele_proto::peer::PeerEnd;
use canele_proto::{Proto, Settings, strategy};
use canele_rail::Rail;
use canele_rail::Region;
use canele_rail::{Recoverable, Rma};
use canele_sys::ids::{FlowId, LinkId, Rank};

use super::observed::{Observed, observer};
use super::under::{CampaignRail, Packets};
use super::watch::Watched;

/// The flow on which only [`few`] ranks are declared to send. On the other flows all ranks send.
const FEW_SEND: FlowId = FlowId(1);

/// Returns every second rank.
fn few(ranks: usize) -> impl Iterator<Item = Rank> {
    (0..ranks as u32).step_by(2).map(Rank)
}

/// Ranks in one world.
pub struct Net {
    /// The networks between them.
    pub world: World,
    /// The protocol state of each rank.
    pub protos: Vec<Proto>,
    /// The rails of each rank.
    pub rails: Vec<Watched>,
    /// The region of each rank.
    pub regions: Vec<Arc<Region>>,
    networks: u8,
    /// The links to open, each with the step, the rank and the link.
    opening: Vec<(usize, Rank, LinkId)>,
    pub(super) step: usize,
    /// The most bytes of unexpected payload that a rank may hold.
    cap: u64,
}

impl Net {
    /// Makes ranks in a new world. `region_bytes` holds the size of each rank's region.
    ///
    /// # Panics
    /// Panics if there is no such strategy, or no memory.
    pub fn new(
        settings: Settings,
        networks: &[Model],
        strategy: &str,
        packets: Packets,
        seed: u64,
        region_bytes: &[usize],
    ) -> Self {
        let ranks = region_bytes.len();
        let world = World::new(ranks, networks, seed);
        let rail = |r: u32| CampaignRail::new(world.rail(Rank(r)), packets, seed ^ u64::from(r) << 32);
        let mut rails: Vec<_> = (0..ranks as u32).map(|r| Watched::new(rail(r))).collect();
        let proto = |r| {
            let mut proto = Proto::new(Rank(r), ranks, settings);
            proto.set_strategy(strategy::named(strategy).expect("a built-in strategy"));
            proto.set_senders(FEW_SEND, few(ranks).collect());
            proto
        };
        let protos: Vec<_> = (0..ranks as u32).map(proto).collect();
        let regions = region_bytes.iter().zip(&mut rails);
        let regions = regions.map(|(bytes, rail)| {
            let region = rail.rail.sim().create_region(*bytes).expect("memory");
            rail.register_region(&region).expect("a simulated rail has room");
            region
        });
        let regions = regions.collect();
        let cap = settings.unexpected_bytes.max(1024 * ranks as u64);
        let networks = networks.len() as u8;
        Self { world, protos, rails, regions, networks, opening: Vec::new(), step: 0, cap }
    }

    /// Returns true if a rank is declared to send on a flow. The programs may send on it all the same.
    pub fn sends_on(&self, flow: FlowId, rank: Rank) -> bool {
        flow != FEW_SEND || few(self.ranks()).any(|one| one == rank)
    }

    /// Gives every rank an observer, before any link opens; returns the record of the observers' events.
    pub(super) fn observe(&mut self) -> Arc<Mutex<Observed>> {
        let observed = Arc::default();
        for (rank, proto) in (0..).map(Rank).zip(&mut self.protos) {
            proto.observe_messages(observer(rank, &observed));
        }
        observed
    }

    /// Closes all links of a rank, as the end of its process does. Its verbs end, and no rail holds their
    /// memory.
    pub fn close_links_of(&mut self, rank: Rank) {
        let (proto, rail) = (&mut self.protos[rank.0 as usize], &mut self.rails[rank.0 as usize]);
        for peer in (0..proto.ranks() as u32).map(Rank) {
            (0..self.networks).for_each(|network| drop(rail.close_link(LinkId::new(network, peer))));
        }
        proto.pass(rail);
    }

    /// Returns the number of ranks.
    pub fn ranks(&self) -> usize {
        self.protos.len()
    }

    /// Returns the protocol state and the rails of a rank.
    pub fn both(&mut self, rank: Rank) -> (&mut Proto, &mut Watched) {
        (&mut self.protos[rank.0 as usize], &mut self.rails[rank.0 as usize])
    }

    /// Moves time to the next event and returns its rank; `None` if nothing will happen.
    pub fn advance(&mut self) -> Option<Rank> {
        if let Some(rank) = self.world.advance() {
            return Some(rank);
        }
        // A rank may retransmit packets that were not acknowledged.
        let next =
            (0..).map(Rank).zip(&self.rails).filter_map(|(rank, rail)| Some((rail.rail.next_ns()?, rank)));
        let (at_ns, rank) = next.filter(|(_, rank)| !self.world.is_dead(*rank)).min()?;
        self.world.advance_to(at_ns);
        Some(rank)
    }

    /// Plans the loss of connections.
    pub fn cut(&self, cuts: &[Cut]) {
        cuts.iter().for_each(|cut| self.world.cut(*cut));
    }

    /// Makes one pass of one rank; returns true if anything happened. A link that the rank wants opens after
    /// `delay` steps.
    ///
    /// # Errors
    /// Fails if a condition does not hold that must hold at any time.
    pub fn pass(&mut self, rank: Rank, delay: usize) -> Result<bool, String> {
        self.step += 1;
        let (due, networks, now_ns) = (self.step + delay, self.networks, self.world.now_ns());
        let (proto, rail) = self.both(rank);
        rail.rail.advance_to(now_ns);
        let mut any = accept(proto, rail);
        any |= proto.pass(rail);
        let mut wanted = Vec::new();
        while let Some(peer) = proto.take_wanted() {
            // The fastest network does not always open its link first.
            let late = |network: u8| due + usize::from(network) * delay / 2;
            wanted.extend((0..networks).map(|network| (late(network), rank, LinkId::new(network, peer))));
            any = true;
        }
        while let Some(link) = proto.take_lost_link() {
            wanted.push((due, rank, link));
            any = true;
        }
        if let Some((peer, fault)) = proto.take_fault() {
            return Err(format!("{rank} blames {peer}: {fault}"));
        }
        self.opening.extend(wanted);
        self.check(rank)?;
        Ok(any | self.open_links(false))
    }

    /// Checks the conditions that must hold at any time.
    fn check(&self, rank: Rank) -> Result<(), String> {
        let proto = &self.protos[rank.0 as usize];
        let holding = proto.holding();
        if holding.unexpected_bytes > self.cap || holding.unexpected_memory > 2 * self.cap {
            return Err(format!("{rank} holds {holding:?}, above the cap of {} bytes", self.cap));
        }
        if let Some((from, header)) = self.rails[rank.0 as usize].twice.first() {
            return Err(format!("{rank} got a message of {from} twice: {header:?}"));
        }
        let given = proto.credit_given();
        if given > self.cap {
            return Err(format!("{rank} has given credit for {given} bytes, above the cap of {}", self.cap));
        }
        for (peer, other) in (0..).map(Rank).zip(&self.protos).filter(|(peer, _)| !self.world.is_dead(*peer))
        {
            let (credit, owed, window) =
                (proto.credit(peer).0, other.credit(rank).1, other.credit_window(rank));
            if credit + owed > window {
                return Err(format!(
                    "{rank} has credit of {credit} bytes at {peer}, which owes {owed}, of {window}"
                ));
            }
        }
        self.world.check()
    }

    /// Opens the links that are due, or all wanted ones if `all`; returns true if there was one.
    pub fn open_links(&mut self, all: bool) -> bool {
        let step = self.step;
        let due: Vec<_> = self.opening.extract_if(.., |(due, ..)| all || *due <= step).collect();
        for (_, rank, link) in &due {
            let (proto, rail) = self.both(*rank);
            open(proto, rail, *link);
        }
        !due.is_empty()
    }

    /// Handles the packets that a dead peer had sent, and then reports its death to a rank.
    pub fn tell(&mut self, rank: Rank, dead: Rank) {
        let (proto, rail) = self.both(rank);
        accept(proto, rail);
        let links: Vec<_> = rail.incoming().iter().copied().filter(|link| link.peer() == dead).collect();
        for link in links {
            proto.receive_rest(rail, link);
            rail.disconnect(link);
        }
        proto.handle_gone(dead, PeerEnd::Failed);
    }
}

/// Accepts the links that peers have opened. Where connections can be lost, it opens the other direction of
/// each at once.
fn accept(proto: &mut Proto, rail: &mut Watched) -> bool {
    rail.rail.accept();
    let is_one_way = |proto: &Proto, link: LinkId| proto.links_to(link.peer()).all(|other| other != link);
    let one_way = |link: &LinkId| rail.caps(*link).needs_numbers() && is_one_way(proto, *link);
    let mut one_way: Vec<_> = rail.incoming().iter().copied().filter(one_way).collect();
    one_way.iter().for_each(|link| open(proto, rail, *link));
    // A peer that is gone has no links any more.
    one_way.retain(|link| !is_one_way(proto, *link));
    !one_way.is_empty()
}

fn open(proto: &mut Proto, rail: &mut Watched, link: LinkId) {
    rail.rail.open_link(link);
    proto.link_opened(rail, link.peer(), link);
}
