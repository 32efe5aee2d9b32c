use std::collections::VecDeque;

use super::super::recorded::{RankTrace, Slice, SliceKind, TracedMessage, Transfer};
use super::*;

/// One step of a rank in a job whose times are computed.
#[derive(Clone, Copy)]
enum Step {
    /// Computes for so many µs; its call site is that of the next call.
    Compute(f64),
    Send(u32),
    Receive(u32),
    /// Receives from the rank whose message came first.
    ReceiveAny,
    /// A collective that leaves no messages in the trace.
    Allreduce,
}

/// The time of a call, and of a message.
const CALL: f64 = 1.0;

/// A job while its steps are made.
struct Job {
    ranks: Vec<RankTrace>,
    steps: Vec<VecDeque<Step>>,
    now: Vec<f64>,
    /// Messages that were sent and not received: number, sender, time.
    on_the_way: Vec<VecDeque<(u64, u32, f64)>>,
    /// The time since when each rank is in a collective.
    inside: Vec<Option<f64>>,
    messages: BTreeMap<u64, TracedMessage>,
}

fn slice(kind: SliceKind, name: &str, (start, end): (f64, f64), line: Option<usize>) -> Slice {
    let site = line.map(|line| format!("main.c:{line}").into());
    let flow = (kind == SliceKind::Collective).then(|| "0".into());
    Slice { kind, name: name.into(), thread: 1, start, end, peer: None, flow, site }
}

impl Job {
    fn call(&mut self, rank: usize, name: &str, times: (f64, f64), line: usize) {
        self.ranks[rank].slices.push(slice(SliceKind::Call, name, times, Some(line)));
        self.now[rank] = times.1;
    }

    fn transfer(at: f64, peer: u32, message: u64) -> Transfer {
        Transfer {
            at,
            thread: 1,
            peer,
            bytes: 8,
            message: Some(message),
            protocol: "short".into(),
            rail: Some(0),
            site: None,
            collective: None,
        }
    }

    /// Makes the next step of a rank; returns false if the rank has to wait for another one first.
    fn step(&mut self, rank: usize) -> bool {
        let Some(step) = self.steps[rank].front().copied() else { return false };
        let start = self.now[rank];
        match step {
            Step::Compute(time) => self.now[rank] += time,
            Step::Send(to) => {
                let number = self.messages.len() as u64 + 1;
                let sent_at = start + CALL / 2.0;
                self.on_the_way[to as usize].push_back((number, rank as u32, sent_at));
                self.ranks[rank].sends.push(Self::transfer(sent_at, to, number));
                let ends = TracedMessage {
                    from: rank as u32,
                    to,
                    from_thread: 1,
                    to_thread: 1,
                    ..TracedMessage::default()
                };
                self.messages.insert(number, TracedMessage { sent_at, received_at: -1.0, bytes: 8, ..ends });
                self.call(rank, "MPI_Send", (start, start + CALL), 10);
            }
            Step::Receive(_) | Step::ReceiveAny => {
                let mut coming = self.on_the_way[rank].iter().enumerate().collect::<Vec<_>>();
                match step {
                    Step::Receive(wanted) => coming.retain(|(_, message)| message.1 == wanted),
                    _ => coming.sort_by(|a, b| a.1.2.total_cmp(&b.1.2)),
                }
                let first = coming.first().map(|(at, _)| *at);
                let Some((number, from, sent_at)) = first.and_then(|at| self.on_the_way[rank].remove(at))
                else {
                    return false;
                };
                let end = (sent_at + CALL).max(start + CALL);
                let waits = slice(SliceKind::Wait, "wait", (start + 0.1, end - 0.1), None);
                self.ranks[rank].slices.push(Slice { peer: Some(from), ..waits });
                self.ranks[rank].receives.push(Self::transfer(end - 0.2, from, number));
                self.messages.get_mut(&number).unwrap().received_at = end - 0.2;
                self.call(rank, "MPI_Recv", (start, end), 11);
            }
            Step::Allreduce => {
                self.inside[rank].get_or_insert(start);
                if self.inside.iter().any(Option::is_none) {
                    return false;
                }
                self.end_collective();
                return true;
            }
        }
        self.steps[rank].pop_front();
        true
    }

    fn end_collective(&mut self) {
        let entered: Vec<f64> = self.inside.iter_mut().map(|inside| inside.take().unwrap()).collect();
        let end = entered.iter().copied().fold(0.0, f64::max) + CALL;
        for (rank, start) in entered.into_iter().enumerate() {
            for (kind, name, inner) in
                [(SliceKind::Collective, "allreduce", 0.1), (SliceKind::Wait, "wait in allreduce", 0.2)]
            {
                self.ranks[rank].slices.push(slice(kind, name, (start + inner, end - inner), None));
            }
            self.call(rank, "MPI_Allreduce", (start, end), 12);
            self.steps[rank].pop_front();
        }
    }
}

/// Returns the trace of ranks that repeat these steps `times` times.
fn trace(ranks: &[Vec<Step>], times: usize) -> Trace {
    let count = ranks.len();
    let mut job = Job {
        ranks: (0..count).map(|_| RankTrace::default()).collect(),
        steps: ranks.iter().map(|steps| steps.repeat(times).into()).collect(),
        now: vec![1.0; count],
        on_the_way: vec![VecDeque::new(); count],
        inside: vec![None; count],
        messages: BTreeMap::new(),
    };
    for rank in 0..count {
        job.call(rank, "MPI_Init", (0.0, 1.0), 1);
    }
    while (0..count).any(|rank| {
        let mut moved = false;
        // The one that is behind goes first, so that messages come in their order.
        while job.step(rank) {
            moved = true;
        }
        moved
    }) {}
    assert!(job.steps.iter().all(VecDeque::is_empty), "the steps do not fit each other");
    let ranks = (0..).zip(job.ranks).collect();
    Trace { ranks, messages: job.messages, ..Trace::default() }
}

/// Returns the share of a rank's computing in all waits.
fn computing_share(causes: &[Cause], rank: u32) -> f64 {
    let all: f64 = causes.iter().map(|cause| cause.waited).sum();
    let own = causes.iter().filter(|cause| cause.rank == rank && cause.kind == CauseKind::Computes);
    own.map(|cause| cause.waited).sum::<f64>() / all
}

fn assert_all_time_is_explained(trace: &Trace, causes: &[Cause]) {
    let slices = trace.ranks.values().flat_map(|rank| &rank.slices);
    let waits = slices.filter(|slice| slice.kind == SliceKind::Wait).map(|slice| slice.end - slice.start);
    let (waited, explained): (f64, f64) = (waits.sum(), causes.iter().map(|cause| cause.waited).sum());
    assert!((waited - explained).abs() < 1e-6 * waited, "{waited} µs of waits, {explained} explained");
}

fn ring(count: u32, computes: impl Fn(u32) -> f64) -> Vec<Vec<Step>> {
    let steps = |rank: u32| {
        vec![
            Step::Compute(computes(rank)),
            Step::Send((rank + 1) % count),
            Step::Receive((rank + count - 1) % count),
        ]
    };
    (0..count).map(steps).collect()
}

#[test]
fn in_a_ring_the_rank_that_computes_is_the_cause_and_not_the_one_before() {
    let trace = trace(&ring(4, |rank| if rank == 1 { 500.0 } else { 0.0 }), 100);
    let causes = causes(&trace);
    assert_all_time_is_explained(&trace, &causes);
    let first = &causes[0];
    assert_eq!((first.rank, first.kind, first.call.as_str()), (1, CauseKind::Computes, "MPI_Send"));
    assert_eq!(first.site.as_deref(), Some("main.c:10"));
    assert!(computing_share(&causes, 1) > 0.95, "{causes:?}");
    let chain: Vec<_> = first.chain.iter().map(|link| (link.rank, link.waits_for)).collect();
    assert_eq!(chain, [(2, 1), (3, 2), (0, 3)]);
    assert_eq!(first.waiting.len(), 3);
}

#[test]
fn what_all_ranks_of_a_ring_compute_is_no_cause() {
    let trace = trace(&ring(12, |rank| if rank == 5 { 600.0 } else { 300.0 }), 100);
    let causes = causes(&trace);
    assert_eq!((causes[0].rank, causes[0].kind), (5, CauseKind::Computes));
    assert!(computing_share(&causes, 5) > 0.9, "{causes:?}");
}

#[test]
fn in_a_chain_the_slowest_rank_is_the_cause_for_all_behind_it() {
    let steps = |rank: u32| {
        let work = Step::Compute(if rank == 2 { 1000.0 } else { 900.0 });
        let receive = (rank > 0).then(|| Step::Receive(rank - 1));
        let send = (rank < 7).then_some(Step::Send(rank + 1));
        receive.into_iter().chain([work]).chain(send).collect::<Vec<_>>()
    };
    let trace = trace(&(0..8).map(steps).collect::<Vec<_>>(), 200);
    let causes = causes(&trace);
    assert_all_time_is_explained(&trace, &causes);
    assert_eq!((causes[0].rank, causes[0].kind), (2, CauseKind::Computes), "{causes:?}");
    let chain: Vec<_> = causes[0].chain.iter().map(|link| link.rank).collect();
    assert_eq!(chain, [3, 4, 5, 6, 7]);
}

#[test]
fn the_last_to_enter_a_collective_is_the_cause() {
    let steps = |rank: u32| vec![Step::Compute(if rank == 3 { 800.0 } else { 200.0 }), Step::Allreduce];
    let trace = trace(&(0..6).map(steps).collect::<Vec<_>>(), 50);
    let causes = causes(&trace);
    assert_eq!((causes[0].rank, causes[0].kind), (3, CauseKind::Computes));
    assert_eq!(causes[0].call, "MPI_Allreduce");
    assert!(computing_share(&causes, 3) > 0.95, "{causes:?}");
}

#[test]
fn earlier_waits_of_the_last_to_enter_a_collective_are_followed() {
    // Rank 0 computes; rank 1 waits for it and enters late, so that ranks 2 and 3 wait in the collective.
    let ranks = [
        vec![Step::Compute(700.0), Step::Send(1), Step::Allreduce],
        vec![Step::Compute(100.0), Step::Receive(0), Step::Allreduce],
        vec![Step::Compute(100.0), Step::Allreduce],
        vec![Step::Compute(100.0), Step::Allreduce],
    ];
    let causes = causes(&trace(&ranks, 50));
    assert_eq!((causes[0].rank, causes[0].kind), (0, CauseKind::Computes));
    assert!(computing_share(&causes, 0) > 0.95, "{causes:?}");
    let waits_for = |rank| causes[0].chain.iter().find(|link| link.rank == rank).unwrap().waits_for;
    assert_eq!([waits_for(1), waits_for(2), waits_for(3)], [0, 1, 1]);
}

#[test]
fn a_master_that_cannot_serve_its_workers_is_the_cause() {
    let mut master = Vec::new();
    for worker in 1..9 {
        master.extend([Step::Receive(worker), Step::Compute(100.0), Step::Send(worker)]);
    }
    let worker = || vec![Step::Compute(200.0), Step::Send(0), Step::Receive(0)];
    let ranks: Vec<_> = std::iter::once(master).chain((0..8).map(|_| worker())).collect();
    let causes = causes(&trace(&ranks, 100));
    assert_eq!((causes[0].rank, causes[0].kind), (0, CauseKind::Computes));
    assert!(computing_share(&causes, 0) > 0.9, "{causes:?}");
    assert_eq!(causes[0].waiting.len(), 8);
}

#[test]
fn workers_that_compute_long_are_the_cause_for_their_master() {
    let master = vec![
        Step::ReceiveAny,
        Step::ReceiveAny,
        Step::ReceiveAny,
        Step::Send(1),
        Step::Send(2),
        Step::Send(3),
    ];
    let worker = |time| vec![Step::Compute(time), Step::Send(0), Step::Receive(0)];
    let ranks = [master, worker(300.0), worker(300.0), worker(900.0)];
    let causes = causes(&trace(&ranks, 100));
    assert_eq!((causes[0].rank, causes[0].kind), (3, CauseKind::Computes));
    assert!(computing_share(&causes, 3) > 0.6, "{causes:?}");
    assert!(computing_share(&causes, 0) < 0.01, "{causes:?}");
}

#[test]
fn two_independent_causes_are_told_apart() {
    let pair = |first: u32, late: u32, time: f64| {
        let computes = |rank| Step::Compute(if rank == late { time } else { 10.0 });
        [
            vec![computes(first), Step::Send(first + 1), Step::Receive(first + 1)],
            vec![computes(first + 1), Step::Send(first), Step::Receive(first)],
        ]
    };
    let ranks = [pair(0, 1, 400.0), pair(2, 2, 900.0)].concat();
    let causes = causes(&trace(&ranks, 100));
    assert_eq!(
        [(causes[0].rank, causes[0].waiting[0].rank), (causes[1].rank, causes[1].waiting[0].rank)],
        [(2, 3), (1, 0)]
    );
    assert!(causes[0].waited > 88_000.0 && causes[1].waited > 38_000.0, "{causes:?}");
    assert_eq!(causes[0].waiting.len(), 1);
}

#[test]
fn a_long_message_waits_for_its_late_receiver() {
    let mut trace =
        trace(&[vec![Step::Compute(5.0), Step::Send(1)], vec![Step::Compute(300.0), Step::Receive(0)]], 1);
    // The message is streamed: its sender waits in the call until it is received, at 301 µs.
    let sender = trace.ranks.get_mut(&0).unwrap();
    let received_at = trace.messages[&1].received_at;
    sender.slices.last_mut().unwrap().end = received_at + 1.0;
    sender
        .slices
        .push(Slice { peer: Some(1), ..slice(SliceKind::Wait, "wait", (6.9, received_at + 0.5), None) });
    trace.ranks.get_mut(&1).unwrap().receives[0].protocol = "streamed".into();
    let causes = causes(&trace);
    assert_eq!((causes[0].rank, causes[0].kind), (1, CauseKind::Computes), "{causes:?}");
    assert!(computing_share(&causes, 1) > 0.95, "{causes:?}");
}

#[test]
fn the_rest_of_a_long_send_is_a_transfer_of_its_sender() {
    let mut trace =
        trace(&[vec![Step::Compute(5.0), Step::Send(1)], vec![Step::Compute(300.0), Step::Receive(0)]], 1);
    let received_at = trace.messages[&1].received_at;
    let sender = trace.ranks.get_mut(&0).unwrap();
    sender.slices.last_mut().unwrap().end = received_at + 1000.0;
    let waits = slice(SliceKind::Wait, "wait to send to 1", (6.9, received_at + 999.0), None);
    sender.slices.push(Slice { peer: Some(1), ..waits });
    trace.ranks.get_mut(&1).unwrap().receives[0].protocol = "streamed".into();
    let causes = causes(&trace);
    let transfers: Vec<_> = causes.iter().filter(|cause| cause.kind == CauseKind::Transfer).collect();
    assert_eq!(transfers.iter().map(|cause| cause.rank).collect::<Vec<_>>(), [0], "{causes:?}");
    assert!((transfers[0].waited - 999.0).abs() < 2.0, "{causes:?}");
}

#[test]
fn a_wait_for_a_rank_is_not_ended_by_a_message_of_another_one() {
    let ranks = [
        vec![Step::Receive(1), Step::Receive(2)],
        vec![Step::Compute(500.0), Step::Send(0)],
        vec![Step::Compute(100.0), Step::Send(0)],
    ];
    let mut trace = trace(&ranks, 1);
    // The message of rank 2 arrives while rank 0 waits for that of rank 1.
    let early = trace.messages.values_mut().find(|message| message.from == 2).unwrap();
    early.received_at = 200.0;
    let causes = causes(&trace);
    assert_eq!((causes[0].rank, causes[0].kind), (1, CauseKind::Computes), "{causes:?}");
    assert!(causes.iter().all(|cause| cause.rank != 2), "{causes:?}");
}

#[test]
fn clocks_of_two_hosts_tell_no_time_below_their_uncertainty() {
    let mut trace =
        trace(&[vec![Step::Compute(305.0), Step::Send(1)], vec![Step::Compute(300.0), Step::Receive(0)]], 1);
    trace.clock_uncertainty = 10.0;
    let kinds = |trace: &Trace| causes(trace).iter().map(|cause| cause.kind).collect::<Vec<_>>();
    assert!(kinds(&trace).contains(&CauseKind::Computes), "one host has one clock");
    trace.ranks.get_mut(&1).unwrap().host = "another".into();
    assert_eq!(kinds(&trace), [CauseKind::Transfer]);
}

#[test]
fn a_chain_of_very_many_ranks_takes_no_longer_for_each_of_them() {
    const COUNT: u32 = 100_000;
    let edges = (1..COUNT).map(|rank| ((rank, rank - 1), 1.0)).collect();
    let chain = Cost { edges, ..Cost::default() }.chain(0);
    let links: Vec<_> = chain.iter().map(|link| (link.rank, link.waits_for)).collect();
    assert_eq!(links, (1..COUNT).map(|rank| (rank, rank - 1)).collect::<Vec<_>>());
}

#[test]
fn a_trace_without_waits_has_no_causes() {
    assert!(causes(&Trace::default()).is_empty());
    assert!(causes(&trace(&[vec![Step::Compute(5.0)]], 3)).is_empty());
}
