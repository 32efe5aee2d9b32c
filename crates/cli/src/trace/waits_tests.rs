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
