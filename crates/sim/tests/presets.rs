//! The presets give the figures of the papers their numbers are from.

use canele_rail::{Class, Header, Rail};
use canele_sim::preset::find;
use canele_sim::world::{Model, SimRail, World};
use canele_sys::ids::{LinkId, Rank};

/// Two ranks, or more, with links to all.
fn rails(model: Model, ranks: u32) -> (World, Vec<SimRail>) {
    let world = World::new(ranks as usize, &[model], 1);
    let mut rails: Vec<_> = (0..ranks).map(|r| world.rail(Rank(r))).collect();
    for (a, b) in (0..ranks).flat_map(|a| (0..ranks).map(move |b| (a, b))).filter(|(a, b)| a != b) {
        rails[a as usize].open_link(0, Rank(b));
    }
    rails.iter_mut().for_each(SimRail::accept);
    (world, rails)
}

fn send(rail: &mut SimRail, to: u32, inline: u8, bulk: usize) -> bool {
    rail.begin_pass();
    let link = LinkId::new(0, Rank(to));
    let room = rail.claim(link, bulk, Class::Message).is_ok();
    if room {
        rail.commit(link, Header { inline_len: inline, ..Header::default() });
    }
    room
}

/// How long one packet takes.
fn one_way_ns(name: &str, inline: u8, bulk: usize) -> u64 {
    let model = find(name).unwrap();
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

/// Megabytes a second that reach rank 0 when so many others send without end.
fn bandwidth(name: &str, senders: u32) -> f64 {
    const BYTES: usize = 64 << 10;
    let (world, mut rails) = rails(find(name).unwrap(), senders + 1);
    let (mut bytes, mut first_ns) = (0, 0);
    while bytes < 20_000_000 {
        (1..=senders).for_each(|from| while send(&mut rails[from as usize], 0, 0, BYTES) {});
        world.advance().expect("always something");
        for from in 1..=senders {
            let link = LinkId::new(0, Rank(from));
            while rails[0].poll(link).unwrap().is_some() {
                rails[0].release(link);
                // From the first arrival on, so that the latency does not count.
                bytes += if first_ns == 0 { 0 } else { BYTES };
                first_ns = if first_ns == 0 { world.now_ns() } else { first_ns };
            }
        }
    }
    assert_eq!(world.check(), Ok(()));
    bytes as f64 * 1000.0 / (world.now_ns() - first_ns) as f64
}

fn near(figure: f64, paper: f64, percent: f64) {
    assert!((figure - paper).abs() <= paper * percent / 100.0, "{figure} instead of {paper}");
}

#[test]
fn hsl_writes_4_bytes_in_4_us_and_494_mbit_a_second() {
    assert_eq!(one_way_ns("hsl", 4, 0), 4000);
    near(bandwidth("hsl", 1) * 8.0, 494.0, 0.5);
}

#[test]
fn hsl_routers_add_150_ns_each() {
    // 9 ranks stand at three routers in a column: ranks 0 to 3, 4 to 7 and 8.
    let (world, mut rails) = rails(find("hsl").unwrap(), 9);
    let mut times = [0; 3];
    for (time, to) in times.iter_mut().zip([1, 4, 8]) {
        let start = world.now_ns();
        assert!(send(&mut rails[0], to, 4, 0));
        assert_eq!(world.advance(), Some(Rank(to)));
        *time = world.now_ns() - start;
    }
    // The first link between routers is faster than that of the rank, so the flit has to be there whole.
    let (slow, fast) = (519, 413);
    assert_eq!(times, [4000, 4000 + 150 + (slow - fast), 4000 + 300 + (slow - fast)]);
}

#[test]
fn myrinet_bip_has_4_3_us_half_of_126_mb_a_second_at_4096_bytes_and_the_rate_of_its_bus() {
    near(one_way_ns("myrinet-bip", 0, 0) as f64, 4300.0, 0.1);
    near(bandwidth("myrinet-bip", 1), 132.0, 1.0);
    let rate = |bytes: usize| bytes as f64 * 1000.0 / one_way_ns("myrinet-bip", 0, bytes) as f64;
    let half = (1..16_384).find(|bytes| rate(*bytes) >= 63.0).unwrap();
    near(half as f64, 4096.0, 1.0);
}

#[test]
fn sci_deck_takes_4_66_us_for_whatever_fits_in_one_unit_and_87_72_mb_a_second() {
    let times: Vec<_> = (0..=48).map(|inline| one_way_ns("sci-deck", inline, 0)).collect();
    assert_eq!(times, [4660; 49]);
    assert_eq!(one_way_ns("sci-deck", 40, 9) - times[0], 730, "the next unit");
    near(bandwidth("sci-deck", 1), 87.72, 0.5);
}

#[test]
fn ethernet_has_the_rate_of_its_payload() {
    near(bandwidth("ethernet", 1), 1177.0, 4.0);
    assert!((10_000..13_000).contains(&one_way_ns("ethernet", 8, 0)));
}

#[test]
fn senders_to_one_rank_share_what_one_gets() {
    for name in ["hsl", "myrinet-bip", "sci-deck", "ethernet"] {
        let (one, three) = (bandwidth(name, 1), bandwidth(name, 3));
        // A single sender's own cost per packet is hidden when others send meanwhile.
        assert!(three >= one * 0.97 && three <= one * 1.05, "{name}: {one} and {three}");
    }
}
