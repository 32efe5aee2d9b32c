use super::super::causes::{Cause, CauseKind, causes};
use super::super::recorded::{RankTrace, Slice};
use super::*;

fn slice(kind: SliceKind, name: &str, (start, end): (f64, f64)) -> Slice {
    let flow = (kind == SliceKind::Collective).then(|| "0".into());
    Slice { kind, name: name.into(), thread: 1, start, end, peer: None, flow, site: None }
}

fn causes_of(ranks: Vec<RankTrace>) -> Vec<Cause> {
    causes(&Trace { ranks: (0..).zip(ranks).collect(), ..Trace::default() })
}

#[test]
fn a_call_with_very_many_waits_takes_no_longer_for_each_of_them() {
    const COUNT: usize = 100_000;
    let end = (4 * COUNT) as f64;
    let mut slices = vec![slice(SliceKind::Call, "MPI_Waitall", (0.0, end))];
    let wait = |n: usize| {
        let start = (4 * n + 1) as f64;
        slice(SliceKind::Wait, "wait for any of several", (start, start + 2.0))
    };
    slices.extend((0..COUNT).map(wait));
    let causes = causes_of(vec![RankTrace { slices, ..RankTrace::default() }]);
    assert_eq!((causes.len(), causes[0].kind), (1, CauseKind::Unknown));
    assert_eq!(causes[0].waited, 2.0 * COUNT as f64);
}

#[test]
fn a_wait_behind_a_collective_in_the_same_call_is_not_a_wait_in_it() {
    let rank = |entered: f64| {
        let slices = vec![
            slice(SliceKind::Call, "MPI_Init", (0.0, 1.0)),
            slice(SliceKind::Call, "MPI_Finalize", (entered, 200.0)),
            slice(SliceKind::Collective, "barrier", (entered + 1.0, entered + 20.0)),
        ];
        RankTrace { slices, ..RankTrace::default() }
    };
    let mut waits = rank(10.0);
    waits.slices.push(slice(SliceKind::Wait, "wait for the launcher", (100.0, 190.0)));
    let causes = causes_of(vec![waits, rank(150.0)]);
    assert_eq!(causes.len(), 1, "{causes:?}");
    assert_eq!((causes[0].rank, causes[0].kind), (0, CauseKind::Unknown));
}

fn rank_of(slices: Vec<Slice>) -> RankTrace {
    RankTrace { slices, ..RankTrace::default() }
}

fn message(from: u32, sent_at: f64, received_at: f64) -> TracedMessage {
    let threads = TracedMessage { from_thread: 1, to_thread: 1, ..TracedMessage::default() };
    TracedMessage { from, to: 0, sent_at, received_at, bytes: 8, ..threads }
}

#[test]
fn a_message_that_was_sent_after_a_wait_did_not_end_it() {
    let call = |name, times| slice(SliceKind::Call, name, times);
    let waits = slice(SliceKind::Wait, "wait for any of several", (10.0, 20.0));
    let ranks = [
        (0, rank_of(vec![call("MPI_Waitall", (9.0, 200.0)), waits])),
        (1, rank_of(vec![call("MPI_Init", (0.0, 1.0)), call("MPI_Send", (99.0, 101.0))])),
    ];
    let messages = [(1, message(1, 100.0, 150.0))].into();
    let causes = causes(&Trace { ranks: ranks.into(), messages, ..Trace::default() });
    assert_eq!(causes.len(), 1, "{causes:?}");
    assert_eq!((causes[0].rank, causes[0].kind), (0, CauseKind::Unknown));
}

#[test]
fn a_wait_in_a_collective_is_for_its_last_rank_and_not_for_a_message_behind_it() {
    let inside = |start| {
        vec![
            slice(SliceKind::Call, "MPI_Init", (0.0, 1.0)),
            slice(SliceKind::Call, "MPI_Allreduce", (start, 300.0)),
            slice(SliceKind::Collective, "allreduce", (start + 0.5, 299.0)),
        ]
    };
    let mut first = inside(9.0);
    first.push(slice(SliceKind::Wait, "wait in allreduce", (10.0, 100.0)));
    let ranks = [(0, rank_of(first)), (1, rank_of(inside(90.0))), (2, rank_of(inside(8.0)))];
    let messages = [(1, message(2, 50.0, 102.0))].into();
    let causes = causes(&Trace { ranks: ranks.into(), messages, ..Trace::default() });
    assert_eq!((causes[0].rank, causes[0].kind), (1, CauseKind::Computes), "{causes:?}");
}

#[test]
fn an_access_that_its_owner_serves_waits_for_what_the_owner_does() {
    let call = |name, times| slice(SliceKind::Call, name, times);
    let waits = slice(SliceKind::Wait, "wait for an access to memory of another rank", (11.0, 109.0));
    let ranks = [
        (0, rank_of(vec![call("MPI_Win_flush", (10.0, 110.0)), Slice { peer: Some(1), ..waits }])),
        (1, rank_of(vec![call("MPI_Init", (0.0, 1.0)), call("MPI_Recv", (105.0, 120.0))])),
    ];
    let causes = causes(&Trace { ranks: ranks.into(), ..Trace::default() });
    assert_eq!(
        (causes[0].rank, causes[0].kind, causes[0].call.as_str()),
        (1, CauseKind::Computes, "MPI_Recv")
    );
    let all: f64 = causes.iter().map(|cause| cause.waited).sum();
    assert!(causes[0].waited > 0.9 * all, "{causes:?}");
    assert_eq!((causes[0].chain[0].rank, causes[0].chain[0].waits_for), (0, 1));
}
