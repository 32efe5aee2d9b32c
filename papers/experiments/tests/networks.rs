//! The networks of the papers have the papers' figures.

#[path = "../../../crates/sim/tests/network/mod.rs"]
mod network;

use canele_papers::NETWORKS;
use canele_sim::preset;
use canele_sim::world::Model;
use canele_sys::ids::Rank;
use network::{bandwidth, near, one_way_ns, rails, send};

fn find(name: &str) -> Model {
    preset::find(name, &NETWORKS).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn hsl_writes_4_bytes_in_4_us_and_494_mbit_a_second() {
    assert_eq!(one_way_ns(find("hsl"), 4, 0), 4000);
    near(bandwidth(find("hsl"), 1) * 8.0, 494.0, 0.5);
}

#[test]
fn hsl_routers_add_150_ns_each() {
    // 9 ranks stand at three routers in a column: ranks 0 to 3, 4 to 7 and 8.
    let (world, mut rails) = rails(find("hsl"), 9);
    let mut times = [0; 3];
    for (time, to) in times.iter_mut().zip([1, 4, 8]) {
        let start = world.now_ns();
        assert!(send(&mut rails[0], to, 4, 0));
        assert_eq!(world.advance(), Some(Rank(to)));
        *time = world.now_ns() - start;
    }
    // The first link between routers is faster than that of the rank, so the flit must be complete there
    // before it goes on.
    let (slow, fast) = (519, 413);
    assert_eq!(times, [4000, 4000 + 150 + (slow - fast), 4000 + 300 + (slow - fast)]);
}

#[test]
fn myrinet_bip_has_4_3_us_half_of_126_mb_a_second_at_4096_bytes_and_the_rate_of_its_bus() {
    near(one_way_ns(find("myrinet-bip"), 0, 0) as f64, 4300.0, 0.1);
    near(bandwidth(find("myrinet-bip"), 1), 132.0, 1.0);
    let rate = |bytes: usize| bytes as f64 * 1000.0 / one_way_ns(find("myrinet-bip"), 0, bytes) as f64;
    let half = (1..16_384).find(|bytes| rate(*bytes) >= 63.0).unwrap();
    near(half as f64, 4096.0, 1.0);
}

#[test]
fn sci_deck_takes_4_66_us_for_whatever_fits_in_one_unit_and_87_72_mb_a_second() {
    let times: Vec<_> = (0..=48).map(|inline| one_way_ns(find("sci-deck"), inline, 0)).collect();
    assert_eq!(times, [4660; 49]);
    assert_eq!(one_way_ns(find("sci-deck"), 40, 9) - times[0], 730, "the next unit");
    near(bandwidth(find("sci-deck"), 1), 87.72, 0.5);
}

#[test]
fn senders_to_one_rank_share_what_one_gets() {
    for name in ["hsl", "myrinet-bip", "sci-deck"] {
        let (one, three) = (bandwidth(find(name), 1), bandwidth(find(name), 3));
        // The sender's own cost per packet is hidden when other ranks send meanwhile.
        assert!(three >= one * 0.97 && three <= one * 1.05, "{name}: {one} and {three}");
    }
}
