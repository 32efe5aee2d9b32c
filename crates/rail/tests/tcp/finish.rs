//! The end of a rank that has finished: its peers do not take it for a loss of the connection.

use canele_rail::Network;
use canele_rail::tcp::Tcp;
use canele_rail::{Rail, Recoverable};

use super::traffic::{TO_0, TO_1, receive, send};
use super::{pair, until};

/// Exchanges acknowledgements until neither end keeps a packet.
fn settle(a: &mut Tcp, b: &mut Tcp) {
    until(|| {
        for rail in [&mut *a, &mut *b] {
            let _ = rail.arm();
            rail.fetch();
        }
        !a.has_unacknowledged() && !b.has_unacknowledged()
    });
}

/// Waits until a rail reports the loss of its link, and returns the report.
fn lost(rail: &mut Tcp) -> canele_rail::Lost {
    let mut lost = None;
    until(|| {
        rail.fetch();
        lost = rail.take_lost();
        lost.is_some()
    });
    lost.unwrap()
}

#[test]
fn who_has_finished_says_so_with_two_calls_and_is_no_loss() {
    let [mut a, mut b] = pair();
    assert!(send(&mut a, TO_1, 1));
    until(|| receive(&mut b, TO_0) == Some(1));
    settle(&mut a, &mut b);
    let before = a.system_calls();
    a.finish();
    assert_eq!(a.system_calls() - before, 2);
    assert!(!send(&mut a, TO_1, 2), "nothing leaves any more");
    assert!(lost(&mut b).finished);
    assert!(a.take_lost().is_none());
}

#[test]
fn what_a_finished_peer_has_not_taken_is_waited_for_no_more() {
    let [mut a, mut b] = pair();
    a.finish();
    assert!(send(&mut b, TO_0, 1) && b.has_unacknowledged());
    assert!(lost(&mut b).finished);
    assert!(!b.has_unacknowledged());
}

#[test]
fn who_still_waits_for_acknowledgements_does_not_say_that_it_has_finished() {
    let [mut a, mut b] = pair();
    assert!(send(&mut a, TO_1, 1));
    a.finish();
    until(|| receive(&mut b, TO_0) == Some(1));
    drop(a);
    assert!(!lost(&mut b).finished);
}
