//! The built-in networks have the figures that their numbers are from.

mod network;

use canele_sim::preset;
use network::{bandwidth, near, one_way_ns};

#[test]
fn ethernet_has_the_rate_of_its_payload_and_senders_share_it() {
    let ethernet = preset::find("ethernet", &[]).unwrap();
    near(bandwidth(ethernet, 1), 1177.0, 4.0);
    assert!((10_000..13_000).contains(&one_way_ns(ethernet, 8, 0)));
    near(bandwidth(ethernet, 3) / bandwidth(ethernet, 1), 1.01, 4.0);
}
