//! Connections between two ranks in one process.

use std::time::Instant;

use canele_control::JobInfo;
use canele_proto::{Envelope, Received, Sent};
use canele_sys::ids::{FlowId, LinkId, Rank, Tag};

use super::connections::{CONNECT_TIMEOUT, Connections};
use super::other_jobs::own_addresses;
use crate::Want;
use crate::fixture::{job_of_two, two_on_one_host, two_on_two_hosts};
use crate::lane::Lane;

const FLOW: FlowId = FlowId(0);
const TAG: Tag = Tag(0);

/// The parts of a rank of another host that connections use.
struct Remote {
    lane: Lane,
    connections: Connections,
    job: JobInfo,
}

impl Remote {
    fn two() -> [Self; 2] {
        two_on_two_hosts().map(|lane| Self {
            lane,
            connections: Connections::new(Instant::now()),
            job: job_of_two(2),
        })
    }

    /// Informs this rank of the addresses of `peer`.
    fn learn_addresses(&mut self, peer: &Self) {
        let addresses = own_addresses(&peer.lane.rails);
        let rank = peer.lane.proto.me();
        self.connections.handle_addresses(&mut self.lane, &self.job, rank, &addresses);
    }

    fn pass(&mut self) {
        let moved = self.lane.proto.pass(&mut self.lane.rails);
        self.connections.tend(&mut self.lane, &self.job, moved);
    }

    fn is_linked(&self, peer: Rank) -> bool {
        self.lane.proto.link_from(peer).is_some()
    }
}

/// Makes two ranks of different hosts that are connected.
fn connected() -> [Remote; 2] {
    let [mut a, mut b] = Remote::two();
    a.learn_addresses(&b);
    b.learn_addresses(&a);
    a.lane.proto.want_link(Rank(1));
    assert!(a.connections.connect_all(&mut a.lane.rails, Rank(1)));
    while !(a.is_linked(Rank(1)) && b.is_linked(Rank(0))) {
        a.pass();
        b.pass();
    }
    [a, b]
}

/// Sends a byte and receives it.
fn exchange(from: &mut Lane, to: &mut Lane, byte: u8, mut pass: impl FnMut(&mut Lane)) {
    assert_eq!(from.post(Envelope::new(to.proto.me(), FLOW, TAG), &[byte][..]), Sent::Done);
    let want = Want { source: Some(from.proto.me()), tag: Some(TAG) };
    let mut into = [0];
    while !matches!(to.try_recv(FLOW, want, &mut into[..]), Received::Done(_)) {
        pass(from);
    }
    assert_eq!(into, [byte]);
}

#[test]
fn ranks_of_one_host_are_linked_by_their_inboxes() {
    let [mut a, mut b] = two_on_one_host();
    for byte in 1..=3 {
        exchange(&mut a, &mut b, byte, |_| ());
        exchange(&mut b, &mut a, byte, |_| ());
    }
    assert_eq!([a.counts.connections, b.counts.connections], [1, 1]);
}

#[test]
fn a_peer_whose_inbox_finds_no_descriptor_is_unreachable_and_the_text_says_why() {
    let [mut a, _] = two_on_one_host();
    a.handle_no_descriptor(Rank(1));
    let text = a.proto.why_gone(Rank(1)).expect("it cannot be reached").to_string();
    assert!(text.contains("ulimit -n"), "{text}");
    // Numbers from elsewhere name no rank.
    a.handle_no_descriptor(Rank(2));
}

#[test]
fn ranks_of_two_hosts_are_linked_when_one_dials() {
    let [mut a, mut b] = connected();
    assert!(!a.connections.is_connecting_to(Rank(1)));
    assert_eq!(a.lane.counts.connections, 1);
    let flush = |from: &mut Lane| {
        from.proto.pass(&mut from.rails);
    };
    exchange(&mut a.lane, &mut b.lane, 1, flush);
}

/// The peer's attempt may have succeeded between this rank's failure and its report.
#[test]
fn a_failed_attempt_does_not_concern_a_link_that_the_peer_has_made() {
    let [mut a, _b] = connected();
    a.connections.handle_failed(&mut a.lane, LinkId::new(1, Rank(1)), "a late report".into());
    assert!(!a.connections.is_connecting_to(Rank(1)));
    assert!(a.is_linked(Rank(1)));
}

#[test]
fn a_failed_attempt_is_made_again_later_each_time() {
    let [mut a, b] = Remote::two();
    a.learn_addresses(&b);
    let (link, now) = (LinkId::new(1, Rank(1)), Instant::now());
    let mut sleeps = Vec::new();
    for _ in 0..3 {
        a.connections.handle_failed(&mut a.lane, link, "refused".into());
        assert!(a.connections.is_connecting_to(Rank(1)));
        sleeps.push(a.connections.longest_sleep(now, false).expect("an attempt is due"));
    }
    assert!(sleeps.is_sorted_by(|before, after| before < after), "{sleeps:?}");
}

#[test]
fn a_peer_that_shares_no_network_is_unreachable_at_once() {
    let [mut a, _b] = Remote::two();
    a.connections.handle_addresses(&mut a.lane, &a.job, Rank(1), &[]);
    let text = a.lane.proto.why_gone(Rank(1)).expect("there is no way").to_string();
    assert!(text.contains("CANELE_RAILS"), "{text}");
    a.connections.handle_addresses(&mut a.lane, &a.job, Rank(2), &[]);
}

#[test]
fn a_peer_without_any_link_for_too_long_is_given_up() {
    let [mut a, b] = Remote::two();
    a.learn_addresses(&b);
    let begin = Instant::now();
    assert!(a.connections.connect_all(&mut a.lane.rails, Rank(1)));
    a.connections.handle_failed(&mut a.lane, LinkId::new(1, Rank(1)), "refused".into());
    assert!(!a.connections.retry(&mut a.lane, &a.job, begin));
    assert_eq!(a.lane.proto.why_gone(Rank(1)), None);
    assert!(a.connections.retry(&mut a.lane, &a.job, Instant::now() + CONNECT_TIMEOUT));
    let text = a.lane.proto.why_gone(Rank(1)).expect("it was given up").to_string();
    assert!(text.contains("refused"), "{text}");
    assert!(!a.connections.is_connecting_to(Rank(1)));
}
