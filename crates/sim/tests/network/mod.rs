//! The time and bandwidth of one simulated network.
#![allow(dead_code, reason = "each test uses its part")]

use canele_rail::{Class, Header, Rail};
use canele_sim::world::{Model, SimRail, World};
use canele_sys::ids::{LinkId, Rank};

/// Returns a world of two or more ranks with links to all.
pub fn rails(model: Model, ranks: u32) -> (World, Vec<SimRail>) {
    let world = World::new(ranks as usize, &[model], 1);
    let mut rails: Vec<_> = (0..ranks).map(|r| world.rail(Rank(r))).collect();
    for (a, b) in (0..ranks).flat_map(|a| (0..ranks).map(move |b| (a, b))).filter(|(a, b)| a != b) {
        rails[a as usize].open_link(0, Rank(b));
    }
    rails.iter_mut().for_each(SimRail::accept);
    (world, rails)
}

pub fn send(rail: &mut SimRail, to: u32, inline: u8, bulk: usize) -> bool {
    rail.begin_pass();
    let link = LinkId::new(0, Rank(to));
    let room = rail.claim(link, bulk, Class::Message).is_ok();
    if room {
        rail.commit(link, Header { inline_len: inline, ..Header::default() });
    }
    room
}

/// Returns the time that one packet takes.
pub fn one_way_ns(model: Model, inline: u8, bulk: usize) -> u64 {
    let (world, mut rails) = rails(model, 2);
    assert!(send(&mut rails[0], 1, inline, bulk));
    assert_eq!(world.advance(), Some(Rank(1)));
    assert!(rails[1].poll(LinkId::new(0, Rank(0))).unwrap().is_some());
    assert_eq!(
        world.now_ns(),
        model.idle_ns(u64::from(inline) + bulk as u64),
        "what the model says of itself"
    );
    world.now_ns()
}

/// Returns the megabytes a second that reach rank 0 if `senders` ranks send without end.
pub fn bandwidth(model: Model, senders: u32) -> f64 {
    const BYTES: usize = 64 << 10;
    let (world, mut rails) = rails(model, senders + 1);
    let (mut bytes, mut first_ns) = (0, 0);
    while bytes < 20_000_000 {
        (1..=senders).for_each(|from| while send(&mut rails[from as usize], 0, 0, BYTES) {});
        world.advance().expect("always something");
        for from in 1..=senders {
            let link = LinkId::new(0, Rank(from));
            while rails[0].poll(link).unwrap().is_some() {
                rails[0].release(link);
                // Bytes count from the first arrival on, so that the latency does not.
                bytes += if first_ns == 0 { 0 } else { BYTES };
                first_ns = if first_ns == 0 { world.now_ns() } else { first_ns };
            }
        }
    }
    assert_eq!(world.check(), Ok(()));
    bytes as f64 * 1000.0 / (world.now_ns() - first_ns) as f64
}

/// Checks that a figure is that of the paper, within a tolerance in percent.
pub fn near(figure: f64, paper: f64, percent: f64) {
    assert!((figure - paper).abs() <= paper * percent / 100.0, "{figure} instead of {paper}");
}
