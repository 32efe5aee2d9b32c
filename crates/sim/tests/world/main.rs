//! The simulated network passes the suite, and behaves as its model says.

mod contention;
mod control_path;
mod loss;
mod suite;

use canele_rail::{Class, Header, Rail};
use canele_sim::world::{Model, SimRail, World};
use canele_sys::ids::{LinkId, Rank};

fn connected(model: Model, seed: u64) -> (World, SimRail, SimRail, LinkId, LinkId) {
    let world = World::new(2, &[model], seed);
    let (mut a, mut b) = (world.rail(Rank(0)), world.rail(Rank(1)));
    let to = a.open_link(0, Rank(1));
    b.accept();
    let from = b.incoming()[0];
    (world, a, b, to, from)
}

fn send(rail: &mut SimRail, link: LinkId, bulk: usize) -> bool {
    let room = rail.claim(link, bulk, Class::Message).is_ok();
    if room {
        rail.commit(link, Header::default());
    }
    room
}

#[test]
fn a_packet_takes_the_time_of_the_model() {
    let model = Model { latency_ns: 1000, bytes_per_ms: 1_000_000, overhead_ns: 100, ..Model::default() };
    let (world, mut a, mut b, to, from) = connected(model, 1);
    assert!(send(&mut a, to, 484) && send(&mut a, to, 0));
    let first = 100 + 500 + 1000;
    assert_eq!(world.next_event_ns(), Some(first));
    world.advance_to(first - 1);
    assert!(b.poll(from).unwrap().is_none());
    assert_eq!(world.advance(), Some(Rank(1)));
    assert_eq!(world.now_ns(), first);
    assert!(b.poll(from).unwrap().is_some());
    b.release(from);
    assert!(b.poll(from).unwrap().is_none(), "the second leaves when the first has left");
    assert_eq!(world.next_event_ns(), Some(first + 100 + 16));
}

#[test]
fn room_comes_back_one_latency_later() {
    let model = Model { cells: 1, ..Model::default() };
    let (world, mut a, mut b, to, from) = connected(model, 1);
    assert!(send(&mut a, to, 0) && !send(&mut a, to, 0));
    world.advance();
    assert!(b.poll(from).unwrap().is_some());
    b.release(from);
    assert!(!send(&mut a, to, 0));
    assert_eq!(world.advance(), Some(Rank(0)));
    assert!(send(&mut a, to, 0));
}

#[test]
fn one_seed_is_one_world() {
    let run = |seed| {
        let model = Model { jitter_ns: 3000, cells: 4, ..Model::default() };
        let (world, mut a, mut b, to, from) = connected(model, seed);
        let mut times = vec![];
        for _ in 0..200 {
            send(&mut a, to, 64);
            world.advance();
            if b.poll(from).unwrap().is_some() {
                b.release(from);
                times.push(world.now_ns());
            }
        }
        times
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
    assert!(run(7).is_sorted());
}

#[test]
fn what_the_dead_had_under_way_never_arrives() {
    let (world, mut a, mut b, to, from) = connected(Model::default(), 1);
    assert!(send(&mut a, to, 0));
    world.advance();
    assert!(send(&mut a, to, 0));
    world.kill(Rank(0));
    assert!(world.is_dead(Rank(0)) && !world.is_dead(Rank(1)));
    assert!(send(&mut a, to, 0), "it does not know that it is dead");
    while world.advance().is_some() {}
    assert!(b.poll(from).unwrap().is_some(), "what had arrived");
    b.release(from);
    assert!(b.poll(from).unwrap().is_none());
}

#[test]
fn sleep_moves_time_to_the_next_event() {
    let (world, mut a, mut b, to, from) = connected(Model::default(), 1);
    b.sleep(Some(std::time::Duration::from_nanos(300)));
    assert_eq!(world.now_ns(), 300);
    assert!(send(&mut a, to, 0));
    let arrives = world.next_event_ns().unwrap();
    b.sleep(None);
    assert_eq!(world.now_ns(), arrives);
    assert!(b.poll(from).unwrap().is_some());
    b.sleep(None);
    assert_eq!(world.now_ns(), arrives, "nothing is under way");
}
