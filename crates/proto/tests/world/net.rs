//! Ranks with their protocols and rails in one world, driven by hand: links that open late, passes, deaths.

use std::sync::Arc;

use canele_proto::peer::Gone;
use canele_proto::{Proto, Settings};
use canele_rail::Rail;
use canele_rail::shm::Region;
use canele_rail::sim::{Model, World};
use canele_sys::ids::Rank;

use crate::watch::Watched;

pub struct Net {
    pub world: World,
    pub protos: Vec<Proto>,
    pub rails: Vec<Watched>,
    pub regions: Vec<Arc<Region>>,
    /// When, who, to whom.
    opening: Vec<(usize, Rank, Rank)>,
    pub step: usize,
    /// The most unexpected payload a rank may hold.
    cap: u64,
}

impl Net {
    /// `region_bytes`: the size of each rank's region.
    pub fn new(settings: Settings, model: Model, seed: u64, region_bytes: &[usize]) -> Self {
        let ranks = region_bytes.len();
        let world = World::new(ranks, &[model], seed);
        let mut rails: Vec<_> = (0..ranks as u32).map(|r| Watched::new(world.rail(Rank(r)))).collect();
        let proto = |r| Proto::new(Rank(r), ranks, settings);
        let protos: Vec<_> = (0..ranks as u32).map(proto).collect();
        let regions = region_bytes.iter().zip(&mut rails);
        let regions = regions.map(|(bytes, rail)| rail.sim.create_region(*bytes).expect("memory")).collect();
        let cap = settings.unexpected_bytes.max(1024 * ranks as u64);
        Self { world, protos, rails, regions, opening: Vec::new(), step: 0, cap }
    }

    pub fn ranks(&self) -> usize {
        self.protos.len()
    }

    pub fn both(&mut self, rank: Rank) -> (&mut Proto, &mut Watched) {
        (&mut self.protos[rank.0 as usize], &mut self.rails[rank.0 as usize])
    }

    /// One pass of one rank; `delay` says after how many steps a link it wants is there.
    pub fn pass(&mut self, rank: Rank, delay: usize) -> Result<bool, String> {
        self.step += 1;
        let due = self.step + delay;
        let (proto, rail) = self.both(rank);
        rail.sim.accept();
        let mut any = proto.pass(rail);
        let mut wanted = Vec::new();
        while let Some(peer) = proto.take_wanted() {
            wanted.push((due, rank, peer));
            any = true;
        }
        if let Some((peer, fault)) = proto.take_fault() {
            return Err(format!("{rank} blames {peer}: {fault}"));
        }
        let holding = proto.holding();
        if holding.unexpected_bytes > self.cap || holding.unexpected_memory > 2 * self.cap {
            return Err(format!("{rank} holds {holding:?}, above the cap of {} bytes", self.cap));
        }
        self.opening.extend(wanted);
        Ok(any | self.open_links(false))
    }

    /// Opens the links that are due, or all that are wanted.
    pub fn open_links(&mut self, all: bool) -> bool {
        let step = self.step;
        let due: Vec<_> = self.opening.extract_if(.., |(due, ..)| all || *due <= step).collect();
        for (_, rank, peer) in &due {
            let (proto, rail) = self.both(*rank);
            let link = rail.sim.open_link(0, *peer);
            proto.link_opened(rail, *peer, link);
        }
        !due.is_empty()
    }

    /// A rank learns that a peer died, after what the peer had sent.
    pub fn tell(&mut self, rank: Rank, dead: Rank) {
        let (proto, rail) = self.both(rank);
        rail.sim.accept();
        let link = rail.incoming().iter().copied().find(|link| rail.peer(*link) == dead);
        if let Some(link) = link {
            while proto.receive_from(rail, link) {}
            rail.disconnect(link);
        }
        proto.handle_gone(dead, Gone::Failed);
    }
}
