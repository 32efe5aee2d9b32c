//! The access to memory of a peer follows from the capabilities of its links.

use canele_proto::rma::{MemoryRoute, route};
use canele_rail::Verbs;
use canele_sim::world::{Model, World};
use canele_sys::ids::{LinkId, Rank};

const PEER: Rank = Rank(1);

/// Returns the route of rank 0 to memory of its peer for each verb, over an open link of such a network.
fn routes(model: Model) -> Vec<MemoryRoute> {
    let world = World::new(2, &[model], 1);
    let mut rail = world.rail(Rank(0));
    rail.open_link(0, PEER);
    Verbs::all().iter().map(|verb| route(&rail, PEER, verb)).collect()
}

#[test]
fn mapped_memory_comes_before_verbs_and_verbs_before_requests() {
    let model = Model { maps_regions: false, verbs: true, ..Model::default() };
    let verb = MemoryRoute::Verb(LinkId::new(0, PEER));
    assert_eq!(routes(Model { maps_regions: true, ..model }), [MemoryRoute::Map; 4]);
    assert_eq!(routes(model), [verb; 4]);
    assert_eq!(routes(Model { verbs: false, ..model }), [MemoryRoute::Request; 4]);
    // No verb changes a word if its result may be unknown.
    let lossy = Model { recoverable: true, ..model };
    assert_eq!(routes(lossy), [verb, verb, MemoryRoute::Request, MemoryRoute::Request]);
}

#[test]
fn there_is_no_verb_without_a_link() {
    let model = Model { maps_regions: false, verbs: true, ..Model::default() };
    let rail = World::new(2, &[model], 1).rail(Rank(0));
    assert_eq!(route(&rail, PEER, Verbs::PUT), MemoryRoute::Request);
}
