//! The suite of the control path.

use canele_rail::conformance::NetworkHarness;
use canele_rail::{Distance, Network, Rail};
use canele_sim::world::{Cut, Model, SimNetwork, When, World};
use canele_sys::ids::Rank;

/// The network's number in its world.
const NUMBER: u8 = 1;

struct Strangers {
    world: World,
    networks: Vec<Option<SimNetwork>>,
}

impl NetworkHarness for Strangers {
    type Network = SimNetwork;

    fn new(ranks: usize) -> Self {
        let model =
            Model { maps_regions: false, recoverable: true, distance: Distance::Network, ..Model::default() };
        let world = World::new(ranks, &[Model::default(), model], 7);
        let network = |me| Some(SimNetwork::new(world.rail(Rank(me)), NUMBER, ranks as u32));
        Self { networks: (0..ranks as u32).map(network).collect(), world }
    }

    fn network(&mut self, rank: usize) -> &mut SimNetwork {
        self.networks[rank].as_mut().expect("a rank that lives")
    }

    fn step(&mut self) {
        let now_ns = self.world.now_ns();
        for network in self.networks.iter_mut().flatten() {
            network.progress_connections(now_ns);
            network.begin_pass();
            network.flush();
        }
        self.world.advance_to(now_ns + 100);
    }

    /// Kills a process, which takes its connections with it.
    fn kill(&mut self, rank: usize) {
        self.networks[rank] = None;
        let (dead, now_ns) = (Rank(rank as u32), self.world.now_ns());
        for peer in (0..self.networks.len() as u32).map(Rank).filter(|peer| *peer != dead) {
            let (when, notices_ns) = (When::At(now_ns), [None, Some(1000)]);
            self.world.cut(Cut { network: NUMBER, ends: [dead, peer], when, notices_ns });
        }
        self.world.advance_to(now_ns);
        self.world.kill(dead);
    }
}

canele_rail::network_conformance!(Strangers);
