//! Tests of the control path: addresses, and the making and ending of links.

use canele_sys::ids::{LinkId, Rank};

use crate::{Class, Header, MAX_ADDRESS, Network, Rail, Recoverable};

/// Steps after which a test fails.
const MANY: usize = 20_000;

/// Rails of one network, which do not know each other's addresses.
pub trait NetworkHarness: Sized {
    /// The driver.
    type Network: Network;

    /// Opens the rails of `ranks` ranks.
    fn new(ranks: usize) -> Self;

    /// Returns the rail of a living rank.
    fn network(&mut self, rank: usize) -> &mut Self::Network;

    /// Makes every rank do the work of a pass, and lets some time go by.
    fn step(&mut self);

    /// Ends a rank abruptly, without notifying its peers.
    fn kill(&mut self, rank: usize);
}

/// Instantiates the suite of the control path for a driver.
#[macro_export]
macro_rules! network_conformance {
    ($harness:ty) => {
        $crate::conformance!(@tests $harness:
            an_address_is_bounded_and_leads_to_its_rank bytes_that_are_no_address_lead_nowhere a_link_is_told_once_at_both_ends
            ranks_that_connect_to_each_other_have_one_link an_attempt_has_an_end_whenever_the_peer_dies an_attempt_is_begun_once a_peer_that_has_ended_is_unreachable
            a_link_is_made_again_after_it_was_closed a_peer_that_is_killed_is_a_lost_link a_peer_that_has_finished_is_no_loss
            packets_are_unacknowledged_until_taken ranks_are_added links_are_counted_and_described an_attempt_has_a_timeout
        );
    };
}

fn until<H: NetworkHarness>(h: &mut H, what: &str, mut is_so: impl FnMut(&mut H) -> bool) {
    for _ in 0..MANY {
        if is_so(h) {
            return;
        }
        h.step();
    }
    panic!("it never happens: {what}");
}

fn number(rank: usize) -> Rank {
    Rank(rank as u32)
}

/// Gives each of two ranks the other's address.
fn introduce<H: NetworkHarness>(h: &mut H, a: usize, b: usize) {
    for (at, of) in [(a, b), (b, a)] {
        let address = h.network(of).own_address();
        assert!(h.network(at).introduce(number(of), &address), "{of} is reached from {at}");
    }
}

/// Waits until both ranks have reported their link; returns it as each of them sees it.
fn opened<H: NetworkHarness>(h: &mut H, a: usize, b: usize) -> [LinkId; 2] {
    let mut links = [None, None];
    until(h, "a link", |h| {
        for (link, rank) in links.iter_mut().zip([a, b]) {
            *link = link.or_else(|| h.network(rank).take_opened());
        }
        links.iter().all(Option::is_some)
    });
    links.map(|link| link.expect("it was looked for"))
}

/// Makes ranks 0 and 1 with a link; returns it as each of them sees it.
fn linked<H: NetworkHarness>() -> (H, [LinkId; 2]) {
    let mut h = H::new(2);
    introduce(&mut h, 0, 1);
    h.network(0).connect(number(1));
    let links = opened(&mut h, 0, 1);
    (h, links)
}

fn send<H: NetworkHarness>(h: &mut H, from: usize, link: LinkId, tag: u32) {
    until(h, "room for a packet", |h| {
        let rail = h.network(from);
        rail.begin_pass();
        rail.claim(link, 0, Class::Message).is_ok()
    });
    h.network(from).commit(link, Header { tag, ..Header::default() });
}

fn receive<H: NetworkHarness>(h: &mut H, at: usize, link: LinkId) -> u32 {
    let mut tag = None;
    until(h, "a packet", |h| {
        let packet = h.network(at).poll(link).expect("an honest peer");
        tag = packet.map(|packet| packet.header.tag);
        tag.is_some()
    });
    h.network(at).release(link);
    tag.expect("it was looked for")
}

/// Sends a packet each way.
fn exchange<H: NetworkHarness>(h: &mut H, links: [LinkId; 2]) {
    for (from, to) in [(0, 1), (1, 0)] {
        send(h, from, links[from], 7);
        assert_eq!(receive(h, to, links[to]), 7);
    }
}

/// The address of a rank fits into a message, and its peers reach the rank by it.
pub fn an_address_is_bounded_and_leads_to_its_rank<H: NetworkHarness>() {
    let mut h = H::new(2);
    let address = h.network(0).own_address();
    assert!((1..=MAX_ADDRESS).contains(&address.len()));
    assert!(!h.network(1).is_introduced(Rank(0)));
    assert!(h.network(1).introduce(Rank(0), &address));
    assert!(h.network(1).is_introduced(Rank(0)));
}

/// A rank checks the addresses it is given: malformed bytes do no harm, and no unreachable rank is accepted.
pub fn bytes_that_are_no_address_lead_nowhere<H: NetworkHarness>() {
    let mut h = H::new(2);
    let address = h.network(1).own_address();
    let network = h.network(0);
    assert!(!network.introduce(Rank(1), &[]));
    assert!(!network.introduce(Rank(1), &vec![0; MAX_ADDRESS + 1]));
    assert!(!network.introduce(Rank(0), &address), "a rank is no peer of itself");
    for stranger in [2, 3, u32::MAX >> 8] {
        assert!(!network.introduce(Rank(stranger), &address) && !network.is_introduced(Rank(stranger)));
    }
    for n in 0..1000 {
        network.introduce(Rank(1), &super::bytes(n, n as usize % 200));
    }
    for at in 0..address.len() {
        network.introduce(Rank(1), &address[..at]);
        for bit in 0..8 {
            let mut changed = address.clone();
            changed[at] ^= 1 << bit;
            network.introduce(Rank(1), &changed);
        }
    }
    assert!(network.introduce(Rank(1), &address), "the last address counts");
}

/// A new link is reported once at each end, and carries packets both ways.
pub fn a_link_is_told_once_at_both_ends<H: NetworkHarness>() {
    let (mut h, links) = linked::<H>();
    exchange(&mut h, links);
    for (rank, peer) in [(0, 1), (1, 0)] {
        let network = h.network(rank);
        assert_eq!(network.link(number(peer)), Some(links[rank]));
        assert_eq!(links[rank].peer(), number(peer));
        assert!(!network.has_opened() && network.take_opened().is_none());
        assert!(network.take_unreachable().is_none());
    }
}

/// Two simultaneous attempts make one link.
pub fn ranks_that_connect_to_each_other_have_one_link<H: NetworkHarness>() {
    let mut h = H::new(2);
    introduce(&mut h, 0, 1);
    h.network(0).connect(Rank(1));
    h.network(1).connect(Rank(0));
    let links = opened(&mut h, 0, 1);
    exchange(&mut h, links);
    for rank in 0..2 {
        assert_eq!(h.network(rank).totals().links, 1);
        assert!(h.network(rank).take_opened().is_none() && h.network(rank).take_lost().is_none());
    }
}

/// If one of two connecting ranks dies at any step, the other one learns of a lost link or of a failed
/// attempt.
pub fn an_attempt_has_an_end_whenever_the_peer_dies<H: NetworkHarness>() {
    for (steps, dead) in (0..8).flat_map(|steps| [(steps, 0), (steps, 1)]) {
        let mut h = H::new(2);
        introduce(&mut h, 0, 1);
        h.network(0).connect(Rank(1));
        h.network(1).connect(Rank(0));
        (0..steps).for_each(|_| h.step());
        h.kill(dead);
        let living = 1 - dead;
        let mut opened = false;
        until(&mut h, "an end of an attempt", |h| {
            let network = h.network(living);
            network.begin_pass();
            opened |= network.take_opened().is_some();
            let is_lost = network.take_lost().is_some();
            assert!(!is_lost || opened, "what is lost was told of before");
            is_lost || network.take_unreachable().is_some()
        });
    }
}

/// A call of `connect` during an attempt, or with an open link, changes nothing.
pub fn an_attempt_is_begun_once<H: NetworkHarness>() {
    let mut h = H::new(2);
    introduce(&mut h, 0, 1);
    for _ in 0..3 {
        h.network(0).connect(Rank(1));
    }
    let links = opened(&mut h, 0, 1);
    h.network(0).connect(Rank(1));
    exchange(&mut h, links);
    assert!(h.network(0).take_opened().is_none() && h.network(1).take_opened().is_none());
}

/// An attempt to reach an ended process fails with a reason, and may be repeated.
pub fn a_peer_that_has_ended_is_unreachable<H: NetworkHarness>() {
    let mut h = H::new(2);
    introduce(&mut h, 0, 1);
    h.kill(1);
    for _ in 0..2 {
        h.network(0).connect(Rank(1));
        let mut failed = None;
        until(&mut h, "a failure", |h| {
            failed = h.network(0).take_unreachable();
            failed.is_some()
        });
        let failed = failed.expect("it was looked for");
        assert!(failed.link.peer() == Rank(1) && !failed.why.is_empty(), "{failed:?}");
        assert!(h.network(0).take_unreachable().is_none() && h.network(0).link(Rank(1)).is_none());
    }
}

/// After both ends have closed a link, a new link can be made.
pub fn a_link_is_made_again_after_it_was_closed<H: NetworkHarness>() {
    let (mut h, mut links) = linked::<H>();
    for _ in 0..3 {
        let before = h.network(0).generation(links[0]);
        h.network(0).close_link(links[0]);
        until(&mut h, "the loss", |h| h.network(1).take_lost().is_some());
        h.network(1).close_link(links[1]);
        assert!(h.network(0).link(Rank(1)).is_none() && h.network(1).link(Rank(0)).is_none());
        h.network(1).connect(Rank(0));
        links = opened(&mut h, 0, 1);
        let generations = [h.network(0).generation(links[0]), h.network(1).generation(links[1])];
        assert!(generations[0] == generations[1] && generations[0] != before, "{generations:?}, {before}");
        exchange(&mut h, links);
    }
}

/// A rank learns that its peer's process has ended.
pub fn a_peer_that_is_killed_is_a_lost_link<H: NetworkHarness>() {
    let (mut h, links) = linked::<H>();
    exchange(&mut h, links);
    h.kill(1);
    let mut lost = None;
    until(&mut h, "the loss", |h| {
        lost = h.network(0).take_lost();
        lost.is_some()
    });
    let lost = lost.expect("it was looked for");
    assert!(lost.link == links[0] && !lost.finished && !lost.why.is_empty());
}

/// A rank tells its peers that it has finished, and they do not count this as a failure.
pub fn a_peer_that_has_finished_is_no_loss<H: NetworkHarness>() {
    let (mut h, links) = linked::<H>();
    exchange(&mut h, links);
    until(&mut h, "acknowledgements", |h| !(0..2).any(|rank| h.network(rank).has_unacknowledged()));
    h.network(1).finish();
    let mut lost = None;
    until(&mut h, "the end", |h| {
        lost = h.network(0).take_lost();
        lost.is_some()
    });
    assert!(lost.expect("it was looked for").finished);
}

/// A packet is unacknowledged until its receiver has released it.
pub fn packets_are_unacknowledged_until_taken<H: NetworkHarness>() {
    let (mut h, links) = linked::<H>();
    assert!(!h.network(0).has_unacknowledged());
    send(&mut h, 0, links[0], 1);
    assert!(h.network(0).has_unacknowledged());
    assert_eq!(receive(&mut h, 1, links[1]), 1);
    until(&mut h, "its acknowledgement", |h| !h.network(0).has_unacknowledged());
    assert_eq!(h.network(0).silent_links(), []);
}

/// Ranks may be added to the job.
pub fn ranks_are_added<H: NetworkHarness>() {
    let mut h = H::new(3);
    let address = h.network(1).own_address();
    let network = h.network(0);
    assert!(!network.introduce(Rank(4), &address));
    network.add_ranks(5);
    network.add_ranks(2);
    assert!(network.introduce(Rank(4), &address) && network.is_introduced(Rank(4)));
    introduce(&mut h, 0, 2);
    h.network(2).connect(Rank(0));
    opened(&mut h, 0, 2);
}

/// Totals and reports describe the open links.
pub fn links_are_counted_and_described<H: NetworkHarness>() {
    let mut h = H::new(2);
    assert_eq!((h.network(0).totals().links, h.network(0).totals().sent), (0, 0));
    assert!(h.network(0).report_link(Rank(1)).is_none());
    introduce(&mut h, 0, 1);
    h.network(0).connect(Rank(1));
    let links = opened(&mut h, 0, 1);
    exchange(&mut h, links);
    let (totals, report) = (h.network(0).totals(), h.network(0).report_link(Rank(1)).expect("it is open"));
    assert!(totals.links == 1 && totals.sent > 0, "{totals:?}");
    assert!(report.sent > 0 && report.received > 0, "{report:?}");
    let sent = totals.sent;
    h.network(0).disconnect(links[0]);
    let totals = h.network(0).totals();
    assert!(totals.links == 0 && totals.sent >= sent, "what was sent before counts on: {totals:?}");
    assert!(h.network(0).report_link(Rank(1)).is_none());
}

/// A rank that sleeps during an attempt to connect wakes in time to continue it.
pub fn an_attempt_has_a_timeout<H: NetworkHarness>() {
    let mut h = H::new(2);
    introduce(&mut h, 0, 1);
    assert!(h.network(0).next_timeout().is_none(), "nothing is to be done");
    h.network(0).connect(Rank(1));
    let has_link = h.network(0).link(Rank(1)).is_some();
    assert!(has_link || h.network(0).next_timeout().is_some());
    opened(&mut h, 0, 1);
    until(&mut h, "rest", |h| h.network(0).next_timeout().is_none());
}
