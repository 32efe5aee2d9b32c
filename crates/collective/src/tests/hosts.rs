//! Two levels, with ranks placed in blocks, in turn and unevenly.

use super::even::{at, roots, run_built};
use super::{inputs, seat};
use crate::build::hosts::{Levels, lanes, leaders};
use crate::hosts::Hosts;
use crate::reduce::Op;
use crate::schedule::{Schedule, ScheduleDraft, Span};
use crate::spec::Operation;

/// Hosts of ranks: in blocks, in turn, unevenly, mixed.
const PLACEMENTS: [&[u32]; 8] = [
    &[0, 0, 1, 1],
    &[0, 1, 0, 1],
    &[0, 0, 0, 1],
    &[3, 2, 2, 3, 2, 1],
    &[0, 0, 0, 0, 1, 1, 1, 1],
    &[0, 1, 2, 0, 1, 2, 0, 1, 2],
    &[0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
    &[0, 1, 1, 2, 2, 2],
];

fn each(mut check: impl FnMut(&Hosts, usize, bool, usize)) {
    for placement in PLACEMENTS {
        let hosts = Hosts::new(placement.iter().copied()).expect("two levels");
        for words in [0, 1, 3, 700, 5_000] {
            for oversubscribed in [false, true] {
                check(&hosts, placement.len(), oversubscribed, words);
            }
        }
    }
}

/// The schedule of one rank.
fn built(
    hosts: &Hosts,
    (me, ranks, oversubscribed): (usize, usize, bool),
    root: Option<usize>,
    build: impl Fn(&mut ScheduleDraft<'_>, &Levels<'_>),
) -> Schedule {
    let mut draft = ScheduleDraft::default();
    build(&mut draft, &Levels::new(hosts, seat(me, ranks, oversubscribed), root));
    draft.finish()
}

fn split(area: fn(usize, usize) -> Span, ranks: usize, words: usize) -> Vec<Span> {
    (0..ranks).map(|n| area(n * words * 8, words * 8)).collect()
}

#[test]
fn broadcasts_reach_all_hosts() {
    each(|hosts, ranks, oversubscribed, words| {
        for root in roots(ranks) {
            let inputs = inputs(ranks, words);
            let data = Span::output(0, words * 8);
            for is_long in [false, true].into_iter().filter(|is_long| !is_long || hosts.each().is_some()) {
                let build = |me| {
                    built(hosts, (me, ranks, oversubscribed), Some(root), |s, levels| match is_long {
                        true => lanes::broadcast(s, levels, root, data),
                        false => leaders::broadcast(s, levels, root, data),
                    })
                };
                let outputs =
                    run_built(ranks, build, Operation::Broadcast(at(root)), words, &inputs, Op::Sum);
                assert!(
                    outputs.iter().all(|output| *output == inputs[root]),
                    "{hosts:?} {words} {root} {is_long}"
                );
            }
        }
    });
}

#[test]
fn a_root_receives_nothing_into_what_it_sends() {
    let hosts = Hosts::new([0, 0, 1, 1]).expect("two levels");
    for root in 0..4 {
        let data = Span::output(0, 1 << 20);
        let schedule =
            built(&hosts, (root, 4, false), Some(root), |s, levels| lanes::broadcast(s, levels, root, data));
        assert!(
            schedule.rounds.iter().all(|round| round.receives.is_empty()),
            "a buffer that may be read only"
        );
    }
}

#[test]
fn reductions_reduce_on_all_hosts() {
    each(|hosts, ranks, oversubscribed, words| {
        let all = inputs(ranks, words);
        let sum = |at: usize| all.iter().fold(0, |sum: u64, input| sum.wrapping_add(input[at]));
        let expected: Vec<u64> = (0..words).map(sum).collect();
        let (input, result) = (Span::input(0, words * 8), Span::output(0, words * 8));
        for is_long in [false, true].into_iter().filter(|is_long| !is_long || hosts.each().is_some()) {
            let build = |me| {
                built(hosts, (me, ranks, oversubscribed), None, |s, levels| match is_long {
                    true => lanes::allreduce(s, levels, input, result, 8),
                    false => leaders::allreduce(s, levels, input, result),
                })
            };
            let outputs = run_built(ranks, build, Operation::Allreduce, words, &all, Op::Sum);
            assert!(outputs.iter().all(|output| *output == expected), "{hosts:?} {words} {is_long}");
        }
        for root in roots(ranks) {
            let build = |me| {
                built(hosts, (me, ranks, oversubscribed), Some(root), |s, levels| {
                    leaders::reduce(s, levels, root, input, if me == root { result } else { Span::NOTHING });
                })
            };
            let outputs = run_built(ranks, build, Operation::Reduce(at(root)), words, &all, Op::Sum);
            assert_eq!(outputs[root], expected, "{hosts:?} {words} {root}");
        }
    });
}

#[test]
fn blocks_of_all_hosts_go_where_they_belong() {
    each(|hosts, ranks, oversubscribed, words| {
        let (one, many) = (inputs(ranks, words), inputs(ranks, words * ranks));
        let gathered = one.concat();
        let (input, output) = (Span::input(0, words * 8), Span::output(0, words * 8));
        let who = |me| (me, ranks, oversubscribed);
        for root in roots(ranks) {
            let all = split(Span::output, ranks, words);
            let build = |me| {
                built(hosts, who(me), Some(root), |s, levels| leaders::gather(s, levels, root, input, &all))
            };
            let outputs = run_built(ranks, build, Operation::Gather(at(root)), words, &one, Op::Sum);
            assert_eq!(outputs[root], gathered, "{hosts:?} {words} {root}");
            let all = split(Span::input, ranks, words);
            let build = |me| {
                built(hosts, who(me), Some(root), |s, levels| leaders::scatter(s, levels, root, &all, output))
            };
            let outputs = run_built(ranks, build, Operation::Scatter(at(root)), words, &many, Op::Sum);
            for (me, output) in outputs.iter().enumerate() {
                assert_eq!(*output, many[root][me * words..(me + 1) * words], "{hosts:?} {words} {root}");
            }
        }
        let all = split(Span::output, ranks, words);
        let build = |me| built(hosts, who(me), None, |s, levels| leaders::allgather(s, levels, input, &all));
        let outputs = run_built(ranks, build, Operation::Allgather, words, &one, Op::Sum);
        assert!(outputs.iter().all(|output| *output == gathered), "{hosts:?} {words}");
        let (from, into) = (Span::input(0, ranks * words * 8), Span::output(0, ranks * words * 8));
        let build =
            |me| built(hosts, who(me), None, |s, levels| leaders::alltoall(s, levels, from, into, words * 8));
        let outputs = run_built(ranks, build, Operation::Alltoall, words, &many, Op::Sum);
        super::even::check_alltoall(&outputs, &many, words);
        let lens = vec![words * 8; ranks];
        let build = |me| {
            built(hosts, who(me), None, |s, levels| leaders::reduce_scatter(s, levels, from, &lens, output))
        };
        let outputs = run_built(ranks, build, Operation::ReduceScatter, words, &many, Op::Sum);
        for (me, output) in outputs.iter().enumerate() {
            let sum =
                |at: usize| many.iter().fold(0, |sum: u64, input| sum.wrapping_add(input[me * words + at]));
            assert_eq!(*output, (0..words).map(sum).collect::<Vec<_>>(), "{hosts:?} {words} {me}");
        }
    });
}

#[test]
fn barriers_of_hosts_end_and_few_messages_cross() {
    each(|hosts, ranks, oversubscribed, _| {
        let build = |me| built(hosts, (me, ranks, oversubscribed), None, leaders::barrier);
        run_built(ranks, build, Operation::Barrier, 0, &vec![vec![]; ranks], Op::Sum);
        let crossing = |me: usize| {
            let schedule = build(me);
            let host = hosts.place(me).0;
            let sends = schedule.rounds.iter().flat_map(|round| &round.sends);
            sends.filter(|send| hosts.place(send.peer.0 as usize).0 != host).count()
        };
        let rounds = hosts.count().next_power_of_two().ilog2() as usize;
        assert_eq!((0..ranks).map(crossing).sum::<usize>(), hosts.count() * rounds);
    });
}
