//! The suite, on networks of every kind.

use std::marker::PhantomData;
use std::sync::Arc;

use canele_rail::conformance::{Harness, RegionHarness};
use canele_rail::{Distance, Region};
use canele_sim::world::{Model, SimRail, Topology, World, Wormhole};
use canele_sys::ids::{Rank, RegionId};

/// The network of a harness.
trait Condition {
    fn model() -> Model;
}

/// Returns a network as small and unsteady as possible.
fn small() -> Model {
    Model { cells: 16, payload: 1024, jitter_ns: 5000, region_misses: 3, ..Model::default() }
}

struct Simulated<C> {
    world: World,
    rails: Vec<SimRail>,
    condition: PhantomData<C>,
}

impl<C: Condition> Harness for Simulated<C> {
    type Rail = SimRail;
    /// Only the numbers of packets wrap, soon after the start; the payload ring laps.
    const WRAPPED: u64 = 20_000;

    fn new(ranks: usize) -> Self {
        let world = World::new(ranks, &[C::model()], 42);
        let rails = (0..ranks as u32).map(|r| world.rail(Rank(r))).collect();
        Self { rails, world, condition: PhantomData }
    }

    fn rail(&mut self, rank: usize) -> &mut SimRail {
        &mut self.rails[rank]
    }

    fn connect(&mut self, from: usize, to: usize) {
        self.rails[from].open_link(0, Rank(to as u32));
        self.rails[to].accept();
    }

    fn deliver(&mut self) {
        while self.world.advance().is_some() {}
        assert_eq!(self.world.check(), Ok(()));
    }

    fn kill(&mut self, rank: usize) {
        self.world.kill(Rank(rank as u32));
    }
}

impl<C: Condition> RegionHarness for Simulated<C> {
    fn create_region(&mut self, rank: usize, bytes: usize) -> Arc<Region> {
        self.rails[rank].create_region(bytes).unwrap()
    }

    fn drop_region(&mut self, rank: usize, id: RegionId) {
        self.rails[rank].drop_region(id);
    }

    fn serve_regions(&mut self, _rank: usize) {}
}

mod direct {
    use super::*;
    struct Direct;
    impl Condition for Direct {
        fn model() -> Model {
            small()
        }
    }
    canele_rail::conformance!(Simulated<Direct>);
}

mod busy_and_numbered {
    use super::*;
    struct Costly;
    impl Condition for Costly {
        fn model() -> Model {
            Model {
                busy: true,
                recoverable: true,
                distance: Distance::Network,
                maps_regions: false,
                ..small()
            }
        }
    }
    canele_rail::conformance!(Simulated<Costly>, without regions);
}

mod verbs {
    use super::*;
    struct Registered;
    impl Condition for Registered {
        fn model() -> Model {
            Model { verbs: true, maps_regions: false, ..small() }
        }
    }
    canele_rail::conformance!(Simulated<Registered>, without regions);
    canele_rail::rma_conformance!(Simulated<Registered>);
}

mod crossbar {
    use super::*;
    struct Crossbar;
    impl Condition for Crossbar {
        fn model() -> Model {
            Model { topology: Topology::Crossbar, stages: 3, stage_bytes: 100, unit_bytes: 64, ..small() }
        }
    }
    canele_rail::conformance!(Simulated<Crossbar>);
}

mod wormhole {
    use super::*;
    struct Grid;
    impl Condition for Grid {
        /// Returns a grid in which every rank has a router of its own.
        fn model() -> Model {
            let wormhole = Wormhole {
                ports: 5,
                hosts: 1,
                flit_bytes: 32,
                buffer_flits: 3,
                router_ns: 150,
                credit_ns: 20,
                bytes_per_ms: 12_000_000,
            };
            Model { topology: Topology::Wormhole(wormhole), ..small() }
        }
    }
    canele_rail::conformance!(Simulated<Grid>);
}
