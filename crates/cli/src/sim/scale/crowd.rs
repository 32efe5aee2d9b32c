//! Many ranks in one thread: their protocols, their rails, and the loop that visits the ranks with events.
//!
//! The ranks compute in no time: virtual time is that of the networks and of connecting. Knows nothing of the
//! measurements.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use canele_collective::{CollectiveProgress, CollectiveRequest, Error};
use canele_proto::{Proto, Settings};
use canele_rail::Rail;
use canele_sim::world::{SimRail, World, WorldEvent};
use canele_sys::ids::{LinkId, Rank};

use super::placing::{Placing, setup_ns};

/// Number of events between two signs of progress.
const EVENTS_PER_SIGN: u64 = 1 << 16;

/// The reason why a collective failed.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// One rank reported an error.
    #[error("{0}: {1}")]
    At(Rank, Error),
    /// A rank violated the protocol.
    #[error("{0} blames {1}: {2}")]
    Blame(Rank, Rank, String),
    /// No packet is under way any more, and the collective has not ended on this many ranks.
    #[error("{0} ranks wait for what never comes")]
    Stuck(usize),
    /// A rank got wrong data.
    #[error("{0} has a wrong result")]
    Wrong(Rank),
}

/// Ranks in one world.
pub struct Crowd<'p> {
    pub protos: Vec<Proto>,
    pub net: Net<'p>,
}

/// The simulated part of the ranks.
pub struct Net<'p> {
    pub world: World,
    rails: Vec<SimRail>,
    /// Number of links that each rank has seen its peers open.
    seen: Vec<usize>,
    /// The times at which links become open, with rank and peer.
    opening: BinaryHeap<Reverse<(u64, Rank, Rank)>>,
    placing: &'p Placing,
    /// Time to make a connection, for each network.
    setup_ns: [u64; 2],
}

/// Returns the state of ranks without any traffic.
pub fn protos(ranks: usize, settings: Settings) -> Vec<Proto> {
    (0..ranks as u32).map(|rank| Proto::new(Rank(rank), ranks, settings)).collect()
}

impl<'p> Net<'p> {
    /// Makes a world of ranks that have no connections.
    pub fn new(placing: &'p Placing) -> Self {
        let (ranks, models) = (placing.ranks(), placing.models());
        let world = World::new(ranks, &models, 0);
        let rails = (0..ranks as u32).map(|rank| world.rail(Rank(rank))).collect();
        let (seen, opening) = (vec![0; ranks], BinaryHeap::new());
        Self { world, rails, seen, opening, placing, setup_ns: models.map(|model| setup_ns(&model)) }
    }

    /// Returns the number of packets that have left for other hosts.
    pub fn between_hosts(&self) -> u64 {
        self.world.packets(0)
    }
}

impl Crowd<'_> {
    /// Lets every rank do its part; returns the time at which the last rank is done. Before it returns, it
    /// waits until nothing is under way.
    pub fn run(
        &mut self,
        requests: &mut [CollectiveRequest],
        mut sign: impl FnMut(&World),
    ) -> Result<u64, Trouble> {
        let mut running = Running { left: requests.len(), is_done: vec![false; requests.len()], requests };
        let mut end_ns = self.net.world.now_ns();
        let mut next_sign = self.net.world.events() + EVENTS_PER_SIGN;
        let mut all = (0..running.left as u32).map(|rank| WorldEvent { rank: Rank(rank), packet: None });
        while let Some(news) = all.next().or_else(|| self.next()) {
            let before = running.left;
            self.visit(news, &mut running)?;
            if before > 0 && running.left == 0 {
                end_ns = self.net.world.now_ns();
            }
            if self.net.world.events() >= next_sign {
                next_sign += EVENTS_PER_SIGN;
                sign(&self.net.world);
            }
        }
        if running.left > 0 { Err(Trouble::Stuck(running.left)) } else { Ok(end_ns) }
    }

    /// Advances time to the next event, and returns it.
    fn next(&mut self) -> Option<WorldEvent> {
        let Net { world, opening, rails, placing, .. } = &mut self.net;
        let due_ns = opening.peek().map_or(u64::MAX, |Reverse((at_ns, ..))| *at_ns);
        while let Some(news) = world.advance_before(due_ns) {
            // Room does not matter to a rank that has nothing to send.
            if news.packet.is_some() || !self.protos[news.rank.0 as usize].is_idle() {
                return Some(news);
            }
        }
        let Reverse((_, rank, peer)) = opening.pop()?;
        open(&mut self.protos[rank.0 as usize], &mut rails[rank.0 as usize], placing.link(rank, peer));
        Some(WorldEvent { rank, packet: None })
    }

    /// Lets a rank do all work that is possible now. Only links with a new packet are polled, unless the rank
    /// has something to send.
    fn visit(
        &mut self,
        WorldEvent { rank, packet }: WorldEvent,
        running: &mut Running<'_>,
    ) -> Result<(), Trouble> {
        let at = rank.0 as usize;
        let (proto, net) = (&mut self.protos[at], &mut self.net);
        let rail = &mut net.rails[at];
        rail.accept();
        while let Some(link) = rail.incoming().get(net.seen[at]).copied() {
            net.seen[at] += 1;
            // A connection that may be lost has both directions from the start.
            if rail.caps(link).needs_numbers() {
                open(proto, rail, link);
            }
        }
        loop {
            rail.begin_pass();
            running.advance(rank, proto, rail)?;
            let came = packet.is_some_and(|link| proto.receive_from(rail, link));
            let did = came || (!proto.is_idle() && proto.pass(rail));
            while let Some(peer) = proto.take_wanted() {
                let network = net.placing.link(rank, peer).rail();
                let at_ns = net.world.now_ns() + net.setup_ns[network as usize];
                net.opening.push(Reverse((at_ns, rank, peer)));
            }
            if !did {
                break;
            }
        }
        match proto.take_fault() {
            Some((peer, fault)) => Err(Trouble::Blame(rank, peer, fault.to_string())),
            None => Ok(()),
        }
    }
}

fn open(proto: &mut Proto, rail: &mut SimRail, link: LinkId) {
    let peer = link.peer();
    if proto.link_from(peer).is_none() {
        rail.open_link(link.rail(), peer);
        proto.link_opened(rail, peer, link);
    }
}

/// A running collective.
struct Running<'a> {
    requests: &'a mut [CollectiveRequest],
    is_done: Vec<bool>,
    left: usize,
}

impl Running<'_> {
    fn advance(&mut self, rank: Rank, proto: &mut Proto, rail: &mut SimRail) -> Result<(), Trouble> {
        let at = rank.0 as usize;
        if self.is_done[at] {
            return Ok(());
        }
        let step = self.requests[at].advance(proto, rail).map_err(|error| Trouble::At(rank, error))?;
        if step == CollectiveProgress::Done {
            self.is_done[at] = true;
            self.left -= 1;
        }
        Ok(())
    }
}
