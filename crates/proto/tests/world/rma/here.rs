//! The ranks, networks and losses of a seed, and the memory of a rank for its target.

use std::sync::Arc;

use canele_mem::buffer::{InBuffer, OutBuffer, RegionAddress};
use canele_proto::Settings;
use canele_proto::rma::{RmaMemory, RmaOperations, Tell};
use canele_rail::{Distance, Region};
use canele_sim::campaign::{Net, Packets, Watched};
use canele_sim::world::{Cut, Model, Random, When};
use canele_sys::atomic::AtomicU64;
use canele_sys::ids::{Rank, RegionId};

use super::AREA;

/// The rank that deposited data, the identifier, and the data.
pub type Deposit = (Rank, [u64; 2], Option<Vec<u8>>);

/// The region of a rank, for its target.
pub struct Here<'a> {
    pub rail: &'a mut Watched,
    pub region: &'a Arc<Region>,
    pub asked: &'a mut Vec<(Rank, [u64; 3])>,
    pub deposits: &'a mut Vec<Deposit>,
}

impl RmaMemory for Here<'_> {
    type Rails = Watched;
    fn rails(&mut self) -> &mut Watched {
        self.rail
    }
    fn len_of(&mut self, region: RegionId) -> Option<usize> {
        (region == self.region.id()).then(|| self.region.len())
    }
    fn room(&mut self, place: RegionAddress, len: usize) -> Option<InBuffer> {
        self.region.in_buffer(place.offset as usize, len)
    }
    fn part(&mut self, place: RegionAddress, len: usize) -> Option<OutBuffer> {
        self.region.out_buffer(place.offset as usize, len)
    }
    fn word(&mut self, place: RegionAddress) -> Option<&AtomicU64> {
        (place.region == self.region.id()).then(|| self.region.word(place.offset as usize)).flatten()
    }
    fn ask(&mut self, from: Rank, question: [u64; 3], _: &mut Vec<Tell>) -> u64 {
        self.asked.push((from, question));
        question[0] + question[1]
    }
    fn deposit(&mut self, from: Rank, of: [u64; 2], data: Option<Vec<u8>>) {
        self.deposits.push((from, of, data));
    }
    fn operations(&self) -> Option<&dyn RmaOperations> {
        None
    }
}

/// Returns the world of a seed: its ranks, the rest of its random numbers, and the number of ranks.
pub fn setup(seed: u64, cuts: bool) -> (Net, Random, usize) {
    let mut random = Random(seed);
    let r = &mut random;
    let ranks = 2 + r.below(2);
    let settings = Settings {
        eager_bytes: r.pick(&[64, 1000, 4096]),
        piece_bytes: r.pick(&[512, 4096]),
        unexpected_bytes: r.pick(&[0, 4 << 10, 1 << 20]),
    };
    let payload = r.pick(&[1 << 10, 16 << 10, 256 << 10]);
    let networks = 1 + r.below(2);
    let (verbs, recoverable) = (r.chance(50), cuts || networks > 1 || r.chance(50));
    let networks: Vec<_> = (0..networks)
        .map(|_| Model {
            payload,
            cells: r.pick(&[4, 8, 64]),
            bytes_per_ms: r.pick(&[100_000, 10_000_000]),
            latency_ns: r.pick(&[1000, 20_000]),
            jitter_ns: r.pick(&[0, 5000]),
            recoverable,
            verbs,
            distance: Distance::Network,
            busy: r.chance(50),
            maps_regions: false,
            ..Model::default()
        })
        .collect();
    let strategy = r.pick(&["aggregate", "fifo", "priority", "split"]);
    let regions = vec![8 + ranks * AREA; ranks];
    let net = Net::new(settings, &networks, strategy, Packets::Well, seed, &regions);
    if cuts {
        let cut = |r: &mut Random| {
            let a = r.below(ranks);
            let ends = [Rank(a as u32), Rank(((a + 1 + r.below(ranks - 1)) % ranks) as u32)];
            Cut {
                network: r.below(networks.len()) as u8,
                ends,
                when: match r.below(3) {
                    0 => When::At(r.up_to(2_000_000)),
                    1 => When::Packets(1 + r.up_to(100)),
                    _ => When::Bytes(1 + r.up_to(200_000)),
                },
                notices_ns: [r.pick(&[0, 1000, 50_000]), r.pick(&[0, 1000, 50_000])].map(Some),
            }
        };
        let all: Vec<_> = (0..1 + r.below(4)).map(|_| cut(r)).collect();
        net.cut(&all);
    }
    (net, random, ranks)
}
