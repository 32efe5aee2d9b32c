use super::super::causes::{Cause, CauseKind, causes};
use super::super::recorded::{Operation, RankTrace, Slice, SliceKind};
use super::*;

fn slice(kind: SliceKind, name: &str, (start, end): (f64, f64)) -> Slice {
    let flow = (kind == SliceKind::Collective).then(|| "0".into());
    Slice { kind, name: name.into(), thread: 1, start, end, peer: None, flow, tag: None, site: None }
}

fn causes_of(ranks: Vec<RankTrace>) -> Vec<Cause> {
    causes(&Trace { ranks: (0..).zip(ranks).collect(), ..Trace::default() })
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
fn a_call_with_very_many_waits_takes_no_longer_for_each_of_them() {
    const COUNT: usize = 100_000;
    let end = (4 * COUNT) as f64;
    let mut slices = vec![slice(SliceKind::Call, "MPI_Waitall", (0.0, end))];
    let wait = |n: usize| {
        let start = (4 * n + 1) as f64;
        slice(SliceKind::Wait, "wait for any of several", (start, start + 2.0))
    };
    slices.extend((0..COUNT).map(wait));
    let causes = causes_of(vec![rank_of(slices)]);
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
        rank_of(slices)
    };
    let mut waits = rank(10.0);
    waits.slices.push(slice(SliceKind::Wait, "wait for the launcher", (100.0, 190.0)));
    let causes = causes_of(vec![waits, rank(150.0)]);
    assert_eq!(causes.len(), 1, "{causes:?}");
    assert_eq!((causes[0].rank, causes[0].kind), (0, CauseKind::Unknown));
}

#[test]
fn the_last_to_start_a_non_blocking_collective_is_the_cause_of_waits_for_it() {
    let rank = |starts: f64| {
        let operation = |start: f64| Operation {
            name: "allreduce".into(),
            thread: 1,
            flow: Some("0".into()),
            tag: Some(7),
            start,
            end: 601.0,
            bytes: 8,
        };
        let waits = |times| {
            let wait = slice(SliceKind::Wait, "wait in allreduce", times);
            Slice { flow: Some("0".into()), tag: Some(7), ..wait }
        };
        // The tag is used twice: the second call is waited for longer.
        let slices = vec![
            slice(SliceKind::Call, "MPI_Init", (0.0, 1.0)),
            waits((4.0, 5.0)),
            waits((starts + 0.5, 600.0)),
        ];
        RankTrace { slices, operations: vec![operation(3.0), operation(starts)], ..RankTrace::default() }
    };
    let causes = causes_of(vec![rank(10.0), rank(11.0), rank(500.0)]);
    assert_eq!((causes[0].rank, causes[0].kind), (2, CauseKind::Computes), "{causes:?}");
    assert_eq!(causes[0].waiting.len(), 2);
    let unknown = causes.iter().filter(|cause| cause.kind == CauseKind::Unknown).map(|cause| cause.waited);
    assert!(unknown.sum::<f64>() < 110.0, "{causes:?}");
}
