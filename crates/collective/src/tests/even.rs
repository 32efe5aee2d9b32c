//! Even blocks, for every number of ranks and every size around the choices.

use std::collections::{HashMap, VecDeque};

use super::{Model, inputs, run_all, schedule_of, seat};
use crate::build::bruck;
use crate::choose::Seat;
use crate::reduce::{Op, Reduction};
use crate::schedule::{Schedule, ScheduleDraft, Span};
use crate::spec::{Operation, Root, Shape};

pub(super) fn at(root: usize) -> Root {
    Root::At(root as u32)
}

/// Runs a collective of `words` 64-bit words per block on a model of `ranks` ranks; returns all outputs.
fn run(
    ranks: usize,
    oversubscribed: bool,
    operation: Operation,
    words: usize,
    inputs: &[Vec<u64>],
    op: Op,
) -> Vec<Vec<u64>> {
    let shape = Shape { element: 8, ..Shape::new(operation, words * 8) };
    let build = |me| schedule_of(seat(me, ranks, oversubscribed), shape);
    run_built(ranks, build, operation, words, inputs, op)
}

/// Runs it with schedules that `build` makes.
pub(super) fn run_built(
    ranks: usize,
    build: impl Fn(usize) -> Schedule,
    operation: Operation,
    words: usize,
    inputs: &[Vec<u64>],
    op: Op,
) -> Vec<Vec<u64>> {
    let models = inputs
        .iter()
        .enumerate()
        .map(|(me, input)| {
            let blocks = match operation {
                Operation::Gather(_) | Operation::Allgather | Operation::Alltoall => ranks,
                _ => 1,
            };
            let output = match operation {
                Operation::Broadcast(Root::At(root)) if root as usize == me => input.clone(),
                _ => vec![0xAAAA; blocks * words],
            };
            Model::new(build(me), input.clone(), output)
        })
        .collect();
    run_all(&format!("{operation:?}"), models, &Reduction::of::<u64>(op))
}

/// Calls `check` for many numbers of ranks and sizes around the choices, oversubscribed or not.
fn each(mut check: impl FnMut(usize, bool, usize)) {
    for ranks in [1, 2, 3, 4, 5, 6, 7, 8, 13, 16] {
        for words in [0, 1, 3, 100, 700, 5_000, 70_000] {
            check(ranks, false, words);
            check(ranks, true, words);
        }
    }
}

pub(super) fn roots(ranks: usize) -> impl Iterator<Item = usize> {
    [0, ranks / 2, ranks - 1].into_iter()
}

#[test]
fn barriers_end() {
    each(|ranks, oversubscribed, _| {
        run(ranks, oversubscribed, Operation::Barrier, 0, &vec![vec![]; ranks], Op::Sum);
    });
}

#[test]
fn no_rank_leaves_a_barrier_before_all_have_come() {
    for ranks in 2..20 {
        for oversubscribed in [false, true] {
            for late in 0..ranks {
                // The ranks that rank 0 learns of, directly or not, before any rank may go: all but the late
                // one never suffices.
                let mut heard: Vec<Vec<bool>> =
                    (0..ranks).map(|me| (0..ranks).map(|r| r == me).collect()).collect();
                let shape = Shape::new(Operation::Barrier, 0);
                let all: Vec<Schedule> =
                    (0..ranks).map(|me| schedule_of(seat(me, ranks, oversubscribed), shape)).collect();
                let mut wires: HashMap<(usize, usize), VecDeque<Vec<bool>>> = HashMap::new();
                let (mut at, mut got) = (vec![(0, false); ranks], vec![0; ranks]);
                for _ in 0..200 * ranks {
                    for me in (0..ranks).filter(|me| *me != late) {
                        let Some(round) = all[me].rounds.get(at[me].0) else { continue };
                        if !std::mem::replace(&mut at[me].1, true) {
                            for send in &round.sends {
                                wires
                                    .entry((me, send.peer.0 as usize))
                                    .or_default()
                                    .push_back(heard[me].clone());
                            }
                        }
                        while let Some(receive) = round.receives.get(got[me]) {
                            let wire = wires.entry((receive.peer.0 as usize, me)).or_default();
                            let Some(news) = wire.pop_front() else { break };
                            heard[me].iter_mut().zip(news).for_each(|(mine, theirs)| *mine |= theirs);
                            got[me] += 1;
                        }
                        if got[me] == round.receives.len() {
                            (at[me], got[me]) = ((at[me].0 + 1, false), 0);
                        }
                    }
                }
                for me in (0..ranks).filter(|me| *me != late) {
                    assert!(at[me].0 < all[me].rounds.len(), "rank {me} of {ranks} left before {late} came");
                    assert!(!heard[me][late]);
                }
            }
        }
    }
}

#[test]
fn broadcasts_reach_all_ranks() {
    each(|ranks, oversubscribed, words| {
        for root in roots(ranks) {
            let inputs = inputs(ranks, words);
            let outputs = run(ranks, oversubscribed, Operation::Broadcast(at(root)), words, &inputs, Op::Sum);
            assert!(outputs.iter().all(|output| *output == inputs[root]), "{ranks} {oversubscribed} {words}");
        }
    });
}

#[test]
fn reductions_reduce() {
    each(|ranks, oversubscribed, words| {
        for op in [Op::Sum, Op::Max] {
            let inputs = inputs(ranks, words);
            let expected: Vec<u64> = (0..words)
                .map(|at| {
                    let all = inputs.iter().map(|input| input[at]);
                    if op == Op::Sum { all.fold(0, u64::wrapping_add) } else { all.max().unwrap_or(0) }
                })
                .collect();
            let outputs = run(ranks, oversubscribed, Operation::Allreduce, words, &inputs, op);
            assert!(outputs.iter().all(|output| *output == expected), "{ranks} {oversubscribed} {words}");
            for root in roots(ranks) {
                let outputs = run(ranks, oversubscribed, Operation::Reduce(at(root)), words, &inputs, op);
                assert_eq!(outputs[root], expected, "{ranks} {oversubscribed} {words} {root}");
            }
        }
    });
}

#[test]
fn blocks_go_where_they_belong() {
    each(|ranks, oversubscribed, words| {
        let one = inputs(ranks, words);
        let many = inputs(ranks, words * ranks);
        let gathered = one.concat();
        for root in roots(ranks) {
            let outputs = run(ranks, oversubscribed, Operation::Gather(at(root)), words, &one, Op::Sum);
            assert_eq!(outputs[root], gathered, "{ranks} {oversubscribed} {words} {root}");
            let outputs = run(ranks, oversubscribed, Operation::Scatter(at(root)), words, &many, Op::Sum);
            let from = &many[root];
            for (me, output) in outputs.iter().enumerate() {
                assert_eq!(
                    *output,
                    from[me * words..(me + 1) * words],
                    "{ranks} {oversubscribed} {words} {root}"
                );
            }
        }
        let outputs = run(ranks, oversubscribed, Operation::Allgather, words, &one, Op::Sum);
        assert!(outputs.iter().all(|output| *output == gathered), "{ranks} {oversubscribed} {words}");
        let outputs = run(ranks, oversubscribed, Operation::Alltoall, words, &many, Op::Sum);
        check_alltoall(&outputs, &many, words);
    });
}

/// Checks that block `r` of each input is in the output of rank `r`.
pub(super) fn check_alltoall(outputs: &[Vec<u64>], inputs: &[Vec<u64>], words: usize) {
    for (me, output) in outputs.iter().enumerate() {
        let expected: Vec<u64> =
            inputs.iter().flat_map(|from| &from[me * words..(me + 1) * words]).copied().collect();
        assert_eq!(*output, expected, "{words} words for rank {me} of {}", outputs.len());
    }
}

/// Checks that the output of each rank is its block of the sum of all inputs.
pub(super) fn check_reduced(outputs: &[Vec<u64>], inputs: &[Vec<u64>], words: usize) {
    for (me, output) in outputs.iter().enumerate() {
        let sum =
            |at: usize| inputs.iter().fold(0, |sum: u64, input| sum.wrapping_add(input[me * words + at]));
        let expected: Vec<u64> = (0..words).map(sum).collect();
        assert_eq!(*output, expected, "{words} words for rank {me} of {}", outputs.len());
    }
}

#[test]
fn carrying_blocks_for_others_brings_them_where_they_belong() {
    for ranks in (1..40).chain([63, 64, 65, 127, 128, 130]) {
        for words in [0, 1, 3] {
            let inputs = inputs(ranks, words * ranks);
            let build = |me| {
                let mut draft = ScheduleDraft::default();
                let from = Span::input(0, ranks * words * 8);
                bruck::alltoall(&mut draft, seat(me, ranks, false), from, words * 8);
                draft.finish()
            };
            let outputs = run_built(ranks, build, Operation::Alltoall, words, &inputs, Op::Sum);
            check_alltoall(&outputs, &inputs, words);
        }
    }
}

#[test]
fn ranks_that_share_processors_publish_short_blocks_and_send_long_ones_at_once() {
    let schedule = |bytes, in_place| {
        let shape = Shape { in_place, ..Shape::new(Operation::Alltoall, bytes) };
        schedule_of(Seat { shared_buffers: true, ..seat(3, 8, true) }, shape)
    };
    for (bytes, in_place) in [(32 << 10, false), (1 << 20, true)] {
        assert!(schedule(bytes, in_place).shared_buffer.is_some(), "{bytes} {in_place}");
    }
    let long = schedule((32 << 10) + 8, false);
    assert!(long.shared_buffer.is_none());
    assert_eq!(long.rounds.iter().map(|round| round.sends.len()).collect::<Vec<_>>(), [7]);
}

#[test]
fn many_ranks_exchange_a_few_bytes_in_few_messages() {
    let messages = |ranks, bytes| {
        let schedule = schedule_of(seat(5, ranks, false), Shape::new(Operation::Alltoall, bytes));
        schedule.rounds.iter().map(|round| round.sends.len()).sum::<usize>()
    };
    assert_eq!([messages(8, 8), messages(100, 1024)], [7, 99]);
    assert_eq!([messages(64, 8), messages(100, 128), messages(10_000, 8)], [6, 7, 14]);
    let inputs = inputs(100, 100);
    check_alltoall(&run(100, false, Operation::Alltoall, 1, &inputs, Op::Sum), &inputs, 1);
}

#[test]
fn only_short_data_takes_the_middle() {
    let rounds = |oversubscribed, bytes| {
        let shape = Shape { element: 8, ..Shape::new(Operation::Allreduce, bytes) };
        schedule_of(seat(3, 8, oversubscribed), shape).rounds.len()
    };
    assert_eq!(rounds(true, 8), 1);
    assert!(rounds(true, 32 << 10) > 1 && rounds(false, 8) > 1);
    assert_eq!(rounds(false, 1 << 20), 2 * 7, "long data takes the ring");
}
