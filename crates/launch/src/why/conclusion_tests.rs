use canele_control::ThreadWait;

use super::*;

/// A rank for tests, with the waits of its threads.
struct Rank {
    waits: Vec<ThreadWait>,
    has_more: bool,
    unexpected: Vec<UnexpectedMessage>,
    is_gone: bool,
    is_finalizing: bool,
}

fn threads(waits: impl IntoIterator<Item = Vec<WaitOperation>>) -> Rank {
    let wait = |operations| ThreadWait { waited_ns: 1, operations, left_out: 0, ends_otherwise: false };
    Rank {
        waits: waits.into_iter().map(wait).collect(),
        has_more: false,
        unexpected: Vec::new(),
        is_gone: false,
        is_finalizing: false,
    }
}

fn rank(operations: Vec<WaitOperation>) -> Rank {
    threads([operations])
}

fn active() -> Rank {
    threads([])
}

fn gone() -> Rank {
    Rank { is_gone: true, ..active() }
}

fn message(peer: Option<u32>, flow: u32, tag: u32) -> WaitMessage {
    WaitMessage { peer, flow: Some(flow), tag: Some(tag), bytes: 8, moving: false }
}

fn receive(peer: u32) -> WaitOperation {
    WaitOperation::Receive(message(Some(peer), 0, 7))
}

fn send(peer: u32) -> WaitOperation {
    WaitOperation::Send(message(Some(peer), 0, 7))
}

fn receive_any() -> WaitOperation {
    WaitOperation::Receive(message(None, 0, 7))
}

fn called(operation: &'static str, flow: u32, call: u32, peers: &[u32]) -> WaitCollective {
    let (operation, peers) = (operation.into(), peers.to_vec());
    WaitCollective { operation, flow, call, started: false, peers, peers_left_out: 0 }
}

fn barrier(flow: u32, call: u32, peers: &[u32]) -> Rank {
    rank(vec![WaitOperation::Collective(called("barrier", flow, call, peers))])
}

fn conclude_of(ranks: &[Rank]) -> Vec<WaitFinding> {
    let all = (0..).zip(ranks).map(|(rank, of)| RankFacts {
        rank,
        is_gone: of.is_gone,
        is_finalizing: of.is_finalizing,
        waits: of.waits.iter().collect(),
        has_more: of.has_more,
        unexpected: &of.unexpected,
    });
    conclude(&all.collect::<Vec<_>>())
}

#[test]
fn two_that_receive_from_each_other_are_a_cycle() {
    let found = conclude_of(&[rank(vec![receive(1)]), rank(vec![receive(0)])]);
    assert_eq!(found, [WaitFinding::Cycle { ranks: vec![0, 1] }]);
}

#[test]
fn two_that_send_to_each_other_are_a_cycle_and_one_that_waits_for_them_is_not_in_it() {
    let found = conclude_of(&[rank(vec![receive(1)]), rank(vec![send(2)]), rank(vec![send(1)])]);
    assert_eq!(found, [WaitFinding::Cycle { ranks: vec![1, 2] }]);
}

#[test]
fn many_in_a_ring_are_a_cycle() {
    let ring: Vec<_> = (0..100).map(|n| rank(vec![receive((n + 99) % 100)])).collect();
    let ranks = std::iter::once(0).chain((1..100).rev()).collect();
    assert_eq!(conclude_of(&ring), [WaitFinding::Cycle { ranks }]);
}

#[test]
fn a_rank_that_receives_from_itself_is_a_cycle_of_one() {
    assert_eq!(conclude_of(&[rank(vec![receive(0)]), active()]), [WaitFinding::Cycle { ranks: vec![0] }]);
}

#[test]
fn data_that_moves_is_no_cycle() {
    let moving = WaitOperation::Send(WaitMessage { moving: true, ..message(Some(1), 0, 7) });
    assert_eq!(conclude_of(&[rank(vec![moving]), rank(vec![receive(0)])]), []);
}

#[test]
fn a_rank_that_does_not_come_to_a_collective_is_the_odd_one() {
    let found = conclude_of(&[barrier(1, 3, &[1]), barrier(1, 3, &[0, 3]), barrier(1, 3, &[0, 3]), active()]);
    let absent = WaitFinding::Absent {
        collective: called("barrier", 1, 3, &[]),
        inside: vec![0, 1, 2],
        absent: vec![3],
    };
    assert_eq!(found, [absent]);
}

#[test]
fn one_that_receives_while_the_others_are_in_a_collective_is_a_cycle_if_it_waits_for_one_of_them() {
    let found = conclude_of(&[barrier(1, 1, &[1]), rank(vec![receive(0)])]);
    assert_eq!(found, [WaitFinding::Cycle { ranks: vec![0, 1] }]);
}

#[test]
fn members_of_one_collective_do_not_wait_for_each_other() {
    assert_eq!(conclude_of(&[barrier(1, 1, &[1]), barrier(1, 1, &[0]), active()]), []);
}

#[test]
fn different_collectives_as_one_call_are_told() {
    let reduces = rank(vec![WaitOperation::Collective(called("allreduce", 1, 5, &[0, 1]))]);
    let found = conclude_of(&[barrier(1, 5, &[1]), barrier(1, 5, &[2]), reduces]);
    let one = (called("barrier", 1, 5, &[1]), vec![0, 1]);
    let other = (called("allreduce", 1, 5, &[0, 1]), vec![2]);
    assert_eq!(found, [WaitFinding::OtherCollective { one, other }]);
}

#[test]
fn collectives_on_two_flows_in_different_order_are_told() {
    let found = conclude_of(&[barrier(1, 2, &[1]), barrier(13, 1, &[0])]);
    let (one, other) = ((0, called("barrier", 1, 2, &[1])), (1, called("barrier", 13, 1, &[0])));
    assert_eq!(found, [WaitFinding::OtherOrder { one, other }]);
}

#[test]
fn a_message_with_another_tag_is_told_and_so_is_one_on_another_flow() {
    let has = UnexpectedMessage { source: 1, flow: 0, tag: 8, bytes: 4 };
    let mut waits = rank(vec![receive(1)]);
    waits.unexpected = vec![UnexpectedMessage { source: 2, ..has }, has];
    let wanted = message(Some(1), 0, 7);
    let found = conclude_of(&[waits, active(), active()]);
    assert_eq!(found[0], WaitFinding::OtherTag { rank: 0, wanted, has });
    let has = UnexpectedMessage { source: 1, flow: 12, tag: 7, bytes: 4 };
    let mut waits = rank(vec![receive(1)]);
    waits.unexpected = vec![has];
    let found = conclude_of(&[waits, rank(vec![receive(0)])]);
    // The sender waits for an answer: its message explains the cycle.
    assert_eq!(found, [WaitFinding::OtherFlow { rank: 0, wanted, has }]);
}

#[test]
fn a_message_that_is_wanted_is_none_with_another_tag() {
    let mut waits = rank(vec![receive(1)]);
    let has = UnexpectedMessage { source: 1, flow: 0, tag: 7, bytes: 4 };
    waits.unexpected = vec![UnexpectedMessage { tag: 9, ..has }, has];
    assert_eq!(conclude_of(&[waits, active()]), [WaitFinding::Awaited { rank: 1, by: vec![0] }]);
}

#[test]
fn a_wait_for_a_rank_that_is_gone_is_told() {
    let found = conclude_of(&[rank(vec![receive(1)]), gone()]);
    assert_eq!(found, [WaitFinding::Gone { rank: 0, peer: 1 }]);
}

#[test]
fn a_rank_that_computes_is_what_all_wait_for_through_others() {
    let found = conclude_of(&[rank(vec![receive(1)]), rank(vec![receive(2)]), active()]);
    assert_eq!(found, [WaitFinding::Awaited { rank: 2, by: vec![0, 1] }]);
}

#[test]
fn a_receive_from_any_rank_is_in_vain_if_all_others_wait_too() {
    let found = conclude_of(&[rank(vec![receive_any()]), rank(vec![receive(0)]), gone()]);
    assert_eq!(found, [WaitFinding::NoSenderLeft { ranks: vec![0] }]);
    let found = conclude_of(&[rank(vec![receive_any()]), rank(vec![receive(0)]), active()]);
    assert_eq!(found, [], "rank 2 may send");
}

#[test]
fn one_of_several_operations_is_enough() {
    let any = || rank(vec![receive(1), receive(2)]);
    assert_eq!(conclude_of(&[any(), rank(vec![receive(0)]), active()]), []);
    let found = conclude_of(&[any(), rank(vec![receive(0)]), rank(vec![receive(1)])]);
    assert_eq!(found, [WaitFinding::Stuck { ranks: vec![0, 1, 2] }], "no single cycle");
}

#[test]
fn a_job_in_which_no_rank_waits_is_explained_by_nothing() {
    assert_eq!(conclude_of(&[active(), active(), gone()]), []);
}

#[test]
fn threads_that_serve_any_rank_do_not_hide_a_cycle_of_others() {
    let found = conclude_of(&[threads([vec![receive_any()], vec![receive(1)]]), rank(vec![receive(0)])]);
    assert_eq!(found, [WaitFinding::Cycle { ranks: vec![0, 1] }]);
}

#[test]
fn a_rank_is_not_stuck_while_one_of_its_threads_may_go_on() {
    let waits = || threads([vec![receive(1)], vec![receive(2)]]);
    let found = conclude_of(&[waits(), rank(vec![receive(0)]), active()]);
    assert_eq!(found, [WaitFinding::Awaited { rank: 2, by: vec![0, 1] }]);
    let more = Rank { has_more: true, ..rank(vec![receive(1)]) };
    assert_eq!(conclude_of(&[more, rank(vec![receive(0)])]), []);
}

#[test]
fn a_message_for_another_thread_is_none_with_another_tag() {
    let other = WaitOperation::Receive(message(Some(1), 0, 8));
    let mut waits = threads([vec![receive(1)], vec![other]]);
    waits.unexpected = vec![UnexpectedMessage { source: 1, flow: 0, tag: 8, bytes: 4 }];
    assert_eq!(conclude_of(&[waits, active()]), [WaitFinding::Awaited { rank: 1, by: vec![0] }]);
}

#[test]
fn a_rank_that_finalizes_is_named_before_the_cycle_that_it_makes() {
    let finalizing = |peers: &[u32]| Rank { is_finalizing: true, ..barrier(0, 1, peers) };
    let waited_for = WaitFinding::Finalizing { rank: 1, by: vec![0, 2] };
    assert_eq!(
        conclude_of(&[rank(vec![receive(1)]), finalizing(&[0]), rank(vec![receive(1)])]),
        [waited_for]
    );
    let from_any = [rank(vec![receive_any()]), finalizing(&[0])];
    assert_eq!(conclude_of(&from_any), [WaitFinding::NoSenderLeft { ranks: vec![0] }]);
    assert_eq!(conclude_of(&[active(), finalizing(&[0])]), [WaitFinding::Awaited { rank: 0, by: vec![1] }]);
}
