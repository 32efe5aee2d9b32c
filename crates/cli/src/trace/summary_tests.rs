use super::super::recorded::{Access, Operation, TracedMessage, Transfer};
use super::*;

fn slice(kind: SliceKind, name: &str, start: f64, end: f64) -> Slice {
    Slice { kind, name: name.into(), thread: 1, start, end, peer: None, flow: None, site: None }
}

fn transfer(at: f64, peer: u32, bytes: u64, message: u64) -> Transfer {
    let (message, protocol) = (Some(message), "short".into());
    Transfer { at, thread: 1, peer, bytes, message, protocol, rail: Some(0), site: None, collective: None }
}

/// Returns a trace. Rank 1 waits from 10 to 30 for a message that rank 0 sends at 25. At 40 it gets another
/// one, sent at 12, without a wait.
fn trace() -> Trace {
    let waiting = RankTrace {
        slices: vec![
            slice(SliceKind::Call, "MPI_Recv", 9.0, 31.0),
            slice(SliceKind::Wait, "wait", 10.0, 30.0),
        ],
        receives: vec![transfer(29.0, 0, 8, 1), transfer(40.0, 0, 100, 2)],
        ..RankTrace::default()
    };
    let sending = RankTrace {
        slices: vec![slice(SliceKind::Call, "MPI_Send", 24.0, 26.0)],
        sends: vec![transfer(25.0, 1, 8, 1), transfer(12.0, 1, 100, 2)],
        missing: 4,
        ..RankTrace::default()
    };
    let message = |sent_at, received_at, bytes| TracedMessage {
        from: 0,
        to: 1,
        from_thread: 1,
        to_thread: 1,
        sent_at,
        received_at,
        bytes,
    };
    Trace {
        ranks: [(0, sending), (1, waiting)].into(),
        messages: [(1, message(25.0, 29.0, 8)), (2, message(12.0, 40.0, 100))].into(),
        ..Trace::default()
    }
}

#[test]
fn a_sender_is_late_by_what_its_receiver_had_waited() {
    let summary = Summary::of(&trace());
    let late: Vec<_> =
        summary.late_senders.iter().map(|l| (l.sender, l.receiver, l.messages, l.waited)).collect();
    assert_eq!(late, [(0, 1, 1, 15.0)]);
}

#[test]
fn a_sender_on_another_host_is_late_by_more_than_the_error_of_the_clocks() {
    let mut trace = trace();
    trace.clock_uncertainty = 20.0;
    assert_eq!(Summary::of(&trace).late_senders.len(), 1, "one host has one clock");
    trace.ranks.get_mut(&0).unwrap().host = "another".into();
    assert!(Summary::of(&trace).late_senders.is_empty());
}

#[test]
fn a_second_message_in_a_wait_is_late_only_since_the_first() {
    let mut trace = trace();
    trace.ranks.get_mut(&1).unwrap().receives[1].at = 30.0;
    trace.messages.get_mut(&2).unwrap().sent_at = 29.5;
    assert_eq!(Summary::of(&trace).late_senders[0].waited, 15.5);
}

#[test]
fn time_is_inside_of_the_library_once_however_slices_lie_in_each_other() {
    let summary = Summary::of(&trace());
    let rank = &summary.ranks[1];
    assert_eq!((rank.took, rank.inside, rank.waits, rank.computes), (31.0, 22.0, 20.0, 9.0));
    assert_eq!((summary.took, summary.missing), (31.0 - 3.0 + 3.0, 4));
    // Rank 0 computes 12 of its 14 µs.
    assert_eq!(summary.ranks[0].computes, 12.0);
    assert_eq!(summary.imbalance, 12.0 / 10.5 - 1.0);
    assert_eq!(summary.calls[0].name, "MPI_Recv");
    assert_eq!((summary.calls[0].longest_on, summary.calls[0].longest), (1, 22.0));
}

#[test]
fn messages_are_counted_by_size_and_pair() {
    let summary = Summary::of(&trace());
    let sizes: Vec<_> = summary.sizes.iter().map(|size| (size.up_to, size.messages, size.bytes)).collect();
    assert_eq!(sizes, [(64, 1, 8), (256, 1, 100)]);
    assert_eq!([0, 1, 64, 65, u64::MAX].map(size_class), [0, 64, 64, 256, u64::MAX]);
    assert_eq!((summary.pairs[0].messages, summary.pairs[0].bytes), (2, 108));
    assert_eq!((summary.rails[0].rail, summary.rails[0].bytes), (0, 108));
    assert_eq!((summary.protocols[0].protocol.as_str(), summary.protocols[0].messages), ("short", 2));
}

#[test]
fn sums_of_impossible_numbers_end_at_the_largest() {
    let mut trace = trace();
    for rank in trace.ranks.values_mut() {
        rank.missing = u64::MAX;
        rank.sends.iter_mut().for_each(|send| (send.bytes, send.rail) = (u64::MAX, Some(0)));
        rank.pieces.insert(0, u64::MAX);
        let access = || Access { at: 1.0, thread: 1, name: "put".into(), peer: 1, bytes: u64::MAX };
        rank.accesses.extend([access(), access()]);
        let operation = || Operation { name: "barrier".into(), start: 1.0, end: 1.0, bytes: u64::MAX };
        rank.operations.extend([operation(), operation()]);
    }
    let summary = Summary::of(&trace);
    assert_eq!((summary.missing, summary.ranks[0].bytes_sent), (u64::MAX, u64::MAX));
    assert!(summary.pairs.iter().all(|pair| pair.bytes == u64::MAX));
    assert_eq!((summary.rails[0].bytes, summary.operations[0].bytes), (u64::MAX, u64::MAX));
    assert_eq!((summary.protocols[0].bytes, summary.sizes[0].bytes), (u64::MAX, u64::MAX));
    assert!(super::super::svg::draw(&trace, &summary).is_ok());
    super::super::page::page(&trace, &summary);
}

#[test]
fn nothing_recorded_is_a_summary_of_nothing() {
    let summary = Summary::of(&Trace::default());
    assert_eq!((summary.took, summary.imbalance, summary.ranks.len()), (0.0, 0.0, 0));
}
