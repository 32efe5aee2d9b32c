//! Links on which nothing happens cost nothing.

use std::time::{Duration, Instant};

use canele_rail::conformance::Harness;
use canele_rail::tcp::Tcp;
use canele_rail::{FastPath, Header, Rail};
use canele_sys::ids::{LinkId, Rank};

use super::{Local, RAIL, until};

/// Links of rank 0.
const LINKS: u32 = 40;
const PASSES: u64 = 100;

/// Passes after the last packet that still ask the system, and a few more for the packets that made the
/// links.
const LIVELY: u64 = 300;
/// The time for which an idle rail does not ask the system again.
const PERIOD: Duration = Duration::from_micros(2);

/// Makes one pass like the layer above. Returns the tags of received packets, by peer.
fn pass(rail: &mut Tcp) -> Vec<(Rank, u32)> {
    let mut came = Vec::new();
    rail.begin_pass();
    rail.find_ready();
    let mut at = 0;
    while let Some(link) = rail.ready().get(at).copied() {
        while let Some(packet) = rail.poll(link).unwrap() {
            came.push((link.peer(), packet.header.tag));
            rail.release(link);
        }
        at += 1;
    }
    rail.flush();
    came
}

#[test]
fn an_idle_rail_asks_seldom_and_hears_what_comes() {
    let mut local = Local::<false>::new(LINKS as usize + 1);
    (1..=LINKS as usize).for_each(|peer| local.connect(peer, 0));
    let mut rails: Vec<_> = local.0.into_iter().flatten().collect();
    let (hub, others) = rails.split_first_mut().unwrap();
    for round in 1..4 {
        (0..LIVELY).for_each(|_| assert!(pass(hub).is_empty()));
        let (begin, before) = (Instant::now(), hub.system_calls());
        (0..100 * PASSES).for_each(|_| assert!(pass(hub).is_empty()));
        let most = 1 + begin.elapsed().as_nanos() / PERIOD.as_nanos();
        assert!(u128::from(hub.system_calls() - before) <= most, "one each period, {most}");
        let other = &mut others[round as usize];
        other.begin_pass();
        other.post(LinkId::new(RAIL, Rank(0)), Header { tag: round, ..Header::default() }, &[]).unwrap();
        other.flush();
        let mut came = Vec::new();
        until(|| {
            came = pass(hub);
            !came.is_empty()
        });
        assert_eq!(came, [(other.me(), round)]);
    }
}

#[test]
fn a_pass_asks_once_for_all_links_and_finds_each_that_speaks() {
    let mut local = Local::<false>::new(LINKS as usize + 1);
    (1..=LINKS as usize).for_each(|peer| local.connect(peer, 0));
    let mut rails: Vec<_> = local.0.into_iter().flatten().collect();
    let (hub, others) = rails.split_first_mut().unwrap();
    // These passes read the packets that the making of links left.
    (0..PASSES).for_each(|_| assert!(pass(hub).is_empty()));
    let before = hub.system_calls();
    (0..PASSES).for_each(|_| assert!(pass(hub).is_empty()));
    assert_eq!(hub.system_calls() - before, PASSES, "one for each pass");
    for (other, tag) in others.iter_mut().zip(1..) {
        other.begin_pass();
        other.post(LinkId::new(RAIL, Rank(0)), Header { tag, ..Header::default() }, &[]).unwrap();
        other.flush();
        let before = hub.system_calls();
        let (mut passes, mut came) = (0, Vec::new());
        until(|| {
            passes += 1;
            came = pass(hub);
            !came.is_empty()
        });
        assert_eq!(came, [(other.me(), tag)]);
        assert!(hub.system_calls() - before <= passes + 2, "only the link that spoke is read");
    }
    let before = hub.system_calls();
    let _ = hub.arm();
    let _ = hub.arm();
    assert!(hub.system_calls() - before <= u64::from(LINKS) + 8, "acknowledgements once, then nothing");
}
