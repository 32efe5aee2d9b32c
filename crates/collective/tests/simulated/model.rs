//! Ranks on a simulated network, all in one thread, and the loop that drives their parts of collectives.

use canele_collective::Error;
use canele_collective::{CollectiveProgress, CollectiveRequest, HEADER, SharedBuffer};
use canele_proto::{Proto, Settings};
use canele_sim::world::{Model, SimRail, World};
use canele_sys::ids::{LinkId, Rank};

/// Ranks in one world.
pub struct Crowd {
    pub protos: Vec<Proto>,
    world: World,
    rails: Vec<SimRail>,
    /// How many there have been.
    pub shared_buffers: usize,
}

/// So often a rank may ask for shared buffers that are not mapped yet: it asks for that of each of nine others twice at most.
const LOOKS: usize = 32;

impl Crowd {
    pub fn new(ranks: usize, seed: u64) -> Self {
        let model = Model { jitter_ns: seed % 3 * 4000, ..Model::default() };
        let world = World::new(ranks, &[model], seed);
        let settings = Settings { eager_bytes: 4096, piece_bytes: 16 << 10, unexpected_bytes: 1 << 20 };
        let protos = (0..ranks as u32).map(|rank| Proto::new(Rank(rank), ranks, settings)).collect();
        let rails = (0..ranks as u32).map(|rank| world.rail(Rank(rank))).collect();
        Self { protos, world, rails, shared_buffers: 0 }
    }

    /// A shared buffer of a rank.
    pub fn shared_buffer(&mut self, of: Rank, bytes: usize) -> SharedBuffer {
        self.shared_buffers += 1;
        SharedBuffer::new(self.rails[of.0 as usize].create_region(HEADER + bytes).expect("memory"))
    }

    /// Each rank does its parts, those it has begun in any order; gives the first error of each.
    ///
    /// # Panics
    /// If they wait for what never comes.
    pub fn run(&mut self, parts: &mut [Vec<CollectiveRequest>]) -> Vec<Option<Error>> {
        let mut ended: Vec<Vec<bool>> = parts.iter().map(|parts| vec![false; parts.len()]).collect();
        let mut errors: Vec<Option<Error>> = parts.iter().map(|_| None).collect();
        let mut looks = 0;
        loop {
            let mut moved = false;
            for rank in 0..self.protos.len() {
                for (part, ended) in
                    parts[rank].iter_mut().zip(&mut ended[rank]).filter(|(_, ended)| !**ended)
                {
                    let step = part.advance(&mut self.protos[rank], &mut self.rails[rank]);
                    *ended = !matches!(step, Ok(CollectiveProgress::Waiting));
                    moved |= *ended;
                    if let Err(error) = step {
                        errors[rank].get_or_insert(error);
                    }
                }
                moved |= self.pass(rank);
            }
            if ended.iter().flatten().all(|ended| *ended) && !moved {
                return errors;
            }
            if moved || self.world.advance().is_some() {
                looks = 0;
            } else {
                looks += 1;
                assert!(looks < LOOKS, "they wait for ever: {ended:?}");
            }
        }
    }

    fn pass(&mut self, rank: usize) -> bool {
        let (proto, rail) = (&mut self.protos[rank], &mut self.rails[rank]);
        rail.accept();
        let moved = proto.pass(rail);
        let mut opened = false;
        while let Some(peer) = proto.take_wanted() {
            opened = true;
            rail.open_link(0, peer);
            proto.link_opened(rail, peer, LinkId::new(0, peer));
        }
        assert!(proto.take_fault().is_none(), "a peer broke the protocol");
        moved || opened
    }
}
