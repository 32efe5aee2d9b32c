//! Two levels, with ranks placed in blocks, in turn and unevenly.

use super::even::{at, roots, run_built};
use super::{inputs, seat};
use crate::build::hosts::{Levels, lanes, leaders};
use crate::choose::{Algorithm, CollectiveCosts, HostLevels, Seat, schedule, uneven};
use crate::hosts::Hosts;
use crate::reduce::Op;
use crate::schedule::{Schedule, ScheduleDraft, Span};
use crate::spec::{Block, Operation, Root, Shape, Uneven};

/// Hosts of ranks: in blocks, in turn, unevenly, mixed.
pub(super) const PLACEMENTS: [&[u32]; 8] = [
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

/// Makes the schedule of one rank.
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

/// Makes the schedule of one rank, with this algorithm between leaders, for which there is a network.
fn built_across(
    hosts: &Hosts,
    (me, ranks, oversubscribed): (usize, usize, bool),
    (root, across): (Option<usize>, Algorithm),
    build: impl Fn(&mut ScheduleDraft<'_>, &Levels<'_>),
) -> Schedule {
    let seat = Seat { costs: CollectiveCosts::default(), ..seat(me, ranks, oversubscribed) };
    let mut draft = ScheduleDraft::default();
    build(&mut draft, &Levels::new(hosts, seat, root).forced_across(across));
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
                    false => leaders::allreduce(s, levels, (input, result), (8, true)),
                })
            };
            let outputs = run_built(ranks, build, Operation::Allreduce, words, &all, Op::Sum);
            assert!(outputs.iter().all(|output| *output == expected), "{hosts:?} {words} {is_long}");
        }
        for root in roots(ranks) {
            for is_long in [false, true].into_iter().filter(|is_long| !is_long || hosts.each().is_some()) {
                let build = |me| {
                    let result = if me == root { result } else { Span::NOTHING };
                    built(hosts, (me, ranks, oversubscribed), Some(root), |s, levels| match is_long {
                        true => lanes::reduce(s, levels, root, input, (result, 8)),
                        false => leaders::reduce(s, levels, root, (input, result), (8, true)),
                    })
                };
                let outputs = run_built(ranks, build, Operation::Reduce(at(root)), words, &all, Op::Sum);
                assert_eq!(outputs[root], expected, "{hosts:?} {words} {root} {is_long}");
            }
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
            for across in [Algorithm::Flat, Algorithm::Tree] {
                let build = |me| {
                    built_across(hosts, who(me), (Some(root), across), |s, levels| {
                        leaders::gather(s, levels, root, input, &all)
                    })
                };
                let outputs = run_built(ranks, build, Operation::Gather(at(root)), words, &one, Op::Sum);
                assert_eq!(outputs[root], gathered, "{hosts:?} {words} {root} {across:?}");
                let all = split(Span::input, ranks, words);
                let build = |me| {
                    built_across(hosts, who(me), (Some(root), across), |s, levels| {
                        leaders::scatter(s, levels, root, &all, output)
                    })
                };
                let outputs = run_built(ranks, build, Operation::Scatter(at(root)), words, &many, Op::Sum);
                for (me, output) in outputs.iter().enumerate() {
                    assert_eq!(*output, many[root][me * words..(me + 1) * words], "{hosts:?} {words} {root}");
                }
            }
        }
        let all = split(Span::output, ranks, words);
        for across in [Algorithm::Burst, Algorithm::Ring, Algorithm::Flat, Algorithm::Bruck] {
            let build = |me| {
                built_across(hosts, who(me), (None, across), |s, levels| {
                    leaders::allgather(s, levels, input, &all)
                })
            };
            let outputs = run_built(ranks, build, Operation::Allgather, words, &one, Op::Sum);
            assert!(outputs.iter().all(|output| *output == gathered), "{hosts:?} {words} {across:?}");
            if hosts.each().is_some() {
                let build =
                    |me| built(hosts, who(me), None, |s, levels| lanes::allgather(s, levels, input, &all));
                let outputs = run_built(ranks, build, Operation::Allgather, words, &one, Op::Sum);
                assert!(outputs.iter().all(|output| *output == gathered), "{hosts:?} {words} {across:?}");
            }
        }
        let (from, into) = (Span::input(0, ranks * words * 8), Span::output(0, ranks * words * 8));
        let build =
            |me| built(hosts, who(me), None, |s, levels| leaders::alltoall(s, levels, from, into, words * 8));
        let outputs = run_built(ranks, build, Operation::Alltoall, words, &many, Op::Sum);
        super::even::check_alltoall(&outputs, &many, words);
        let lens = vec![words * 8; ranks];
        for across in [Algorithm::Burst, Algorithm::Ring, Algorithm::Flat, Algorithm::Halving] {
            let build = |me| {
                built_across(hosts, who(me), (None, across), |s, levels| {
                    leaders::reduce_scatter(s, levels, from, &lens, (output, 8, true))
                })
            };
            let outputs = run_built(ranks, build, Operation::ReduceScatter, words, &many, Op::Sum);
            super::even::check_reduced(&outputs, &many, words);
            if hosts.each().is_none() || !hosts.are_in_blocks() {
                continue;
            }
            let build = |me| {
                built(hosts, who(me), None, |s, levels| {
                    lanes::reduce_scatter(s, levels, from, &lens, (output, 8))
                })
            };
            let outputs = run_built(ranks, build, Operation::ReduceScatter, words, &many, Op::Sum);
            super::even::check_reduced(&outputs, &many, words);
        }
    });
}

#[test]
fn barriers_of_hosts_end_and_few_messages_cross() {
    each(|hosts, ranks, oversubscribed, _| {
        let build = |me| built(hosts, (me, ranks, oversubscribed), None, leaders::barrier);
        run_built(ranks, build, Operation::Barrier, 0, &vec![vec![]; ranks], Op::Sum);
        let rounds = hosts.count().next_power_of_two().ilog2() as usize;
        assert_eq!(count_crossing(hosts, ranks, build), hosts.count() * rounds);
    });
}

/// Counts the messages between hosts.
fn count_crossing(hosts: &Hosts, ranks: usize, build: impl Fn(usize) -> Schedule) -> usize {
    let of_one = |me: usize| {
        let schedule = build(me);
        let host = hosts.place(me).0;
        let sends = schedule.rounds.iter().flat_map(|round| &round.sends);
        sends.filter(|send| hosts.place(send.peer.0 as usize).0 != host).count()
    };
    (0..ranks).map(of_one).sum()
}

/// Makes a seat on these hosts that takes an algorithm whenever it can.
pub(super) fn seat_on(hosts: &Hosts, me: usize, ranks: usize, forced: Option<Algorithm>) -> Seat {
    let levels = HostLevels::new(hosts, CollectiveCosts::of(&canele_profile::HostProfile::SHARED_CACHES, 1));
    Seat { levels: Some(levels), costs: CollectiveCosts::default(), forced, ..seat(me, ranks, false) }
}

#[test]
fn in_place_and_apart_give_the_same() {
    let words = 40;
    let operations = [
        Operation::Reduce(Root::At(1)),
        Operation::Allreduce,
        Operation::Gather(Root::At(1)),
        Operation::Scatter(Root::At(1)),
        Operation::Allgather,
        Operation::Alltoall,
        Operation::ReduceScatter,
        Operation::Scan,
        Operation::Exscan,
    ];
    for (placement, operation) in
        PLACEMENTS.into_iter().flat_map(|placement| operations.map(|of| (placement, of)))
    {
        let (hosts, ranks) = (Hosts::new(placement.iter().copied()).expect("two levels"), placement.len());
        let forms = [None, Some(Algorithm::Leaders), Some(Algorithm::Lanes)];
        let outputs = forms
            .into_iter()
            .flat_map(|forced| [(forced, false), (forced, true)])
            .map(|(forced, in_place)| run_in_place(&hosts, ranks, operation, words, forced, in_place));
        let outputs: Vec<_> = outputs.collect();
        assert!(outputs.iter().all(|output| *output == outputs[0]), "{operation:?} on {placement:?}");
    }
}

/// Returns the outputs of all ranks, as far as they count.
fn run_in_place(
    hosts: &Hosts,
    ranks: usize,
    operation: Operation,
    words: usize,
    forced: Option<Algorithm>,
    in_place: bool,
) -> Vec<Vec<u64>> {
    let all = inputs(ranks, words * ranks);
    let shape = |me: usize| {
        let is_own = !matches!(operation, Operation::Reduce(Root::At(root)) | Operation::Gather(Root::At(root)) | Operation::Scatter(Root::At(root)) if root as usize != me);
        Shape { element: 8, in_place: in_place && is_own, ..Shape::new(operation, words * 8) }
    };
    let models = (0..ranks).map(|me| {
        let build = schedule(seat_on(hosts, me, ranks, forced), (None, Some(hosts)), shape(me))
            .expect("a call that can be");
        let mut output = all[me].clone();
        if matches!(operation, Operation::Gather(_) | Operation::Allgather) {
            let own = output[..words].to_vec();
            output[me * words..(me + 1) * words].copy_from_slice(&own);
        }
        super::Model::new(build, all[me].clone(), output)
    });
    let outputs = super::run_all("in place", models.collect(), &crate::reduce::Reduction::of::<u64>(Op::Sum));
    outputs.into_iter().enumerate().map(|(me, output)| counted(operation, me, words, output)).collect()
}

/// Returns the part of an output that an operation writes.
fn counted(operation: Operation, me: usize, words: usize, output: Vec<u64>) -> Vec<u64> {
    match operation {
        Operation::Reduce(Root::At(root)) | Operation::Gather(Root::At(root)) if root as usize != me => {
            Vec::new()
        }
        // The first member's output of an exscan is not touched.
        Operation::Exscan if me == 0 => Vec::new(),
        Operation::Reduce(_)
        | Operation::Allreduce
        | Operation::ReduceScatter
        | Operation::Scan
        | Operation::Exscan => output[..words].to_vec(),
        // In place the root's own block stays in its input.
        Operation::Scatter(Root::At(root)) if root as usize == me => Vec::new(),
        Operation::Scatter(_) => output[..words].to_vec(),
        _ => output,
    }
}

#[test]
fn several_ranks_on_each_host_go_through_leaders_and_long_vectors_through_lanes() {
    let hosts = Hosts::new((0..16).map(|rank| rank / 8)).expect("two levels");
    let chosen = |operation, bytes| {
        seat_on(&hosts, 3, 16, None).choose(Shape { element: 8, ..Shape::new(operation, bytes) })
    };
    for operation in [
        Operation::Barrier,
        Operation::Allreduce,
        Operation::Allgather,
        Operation::Alltoall,
        Operation::ReduceScatter,
        Operation::Scan,
        Operation::Exscan,
    ] {
        assert_eq!(chosen(operation, 8), Algorithm::Leaders, "{operation:?}");
    }
    assert_eq!(chosen(Operation::Allreduce, 64 << 10), Algorithm::Lanes);
    assert_ne!(
        chosen(Operation::Alltoall, 64 << 10),
        Algorithm::Leaders,
        "a leader would carry the blocks of all"
    );
}

#[test]
fn few_messages_of_scans_and_of_blocks_of_any_length_cross() {
    let hosts = Hosts::new((0..24).map(|rank| rank / 8)).expect("two levels");
    let seat = |me| seat_on(&hosts, me, 24, None);
    for operation in [Operation::Scan, Operation::Exscan] {
        let build = |me| schedule(seat(me), (None, Some(&hosts)), Shape::new(operation, 8)).expect("a scan");
        let crossing = count_crossing(&hosts, 24, build);
        assert!((2..=3).contains(&crossing), "{operation:?}: 0 to 1, 1 to 2, maybe 0 to 2: {crossing}");
    }
    let all: Vec<Block> = (0..24).map(|rank| Block { at: rank * 32, len: rank }).collect();
    let lens: Vec<usize> = (0..24).map(|rank| rank * 8).collect();
    let gather = |me: usize| Uneven::Allgather { mine: Some(Block { at: 0, len: me }), all: &all };
    let reduce = Uneven::ReduceScatter { lens: &lens, element: 8, commutative: false, in_place: false };
    let crossing = |build: &dyn Fn(usize) -> Schedule| count_crossing(&hosts, 24, build);
    let made = |me, spec| uneven(seat(me), (None, Some(&hosts)), spec).expect("lists of all members");
    let of_gather = crossing(&|me| made(me, gather(me)));
    let of_reduce = crossing(&|me| made(me, reduce));
    assert_eq!((of_gather, of_reduce), (6, 6), "one for each pair of hosts, each way");
}

#[test]
fn members_that_do_not_all_know_the_lengths_keep_one_level() {
    let hosts = Hosts::new([0, 0, 1, 1]).expect("two levels");
    let all = [Block { at: 0, len: 8 }; 4];
    let root = Root::At(0);
    for spec in [
        Uneven::Gather { root, mine: Some(all[0]), all: &all },
        Uneven::Scatter { root, mine: Some(all[0]), all: &all },
        Uneven::Alltoall { from: Some(&all), into: &all },
    ] {
        let build = |me| {
            let seat = seat_on(&hosts, me, 4, Some(Algorithm::Leaders));
            uneven(seat, (None, Some(&hosts)), spec).expect("lists of all members")
        };
        let is_alltoall = matches!(spec, Uneven::Alltoall { .. });
        assert_eq!(count_crossing(&hosts, 4, build), if is_alltoall { 8 } else { 2 }, "{spec:?}");
    }
}

#[test]
fn scans_of_members_in_turn_keep_one_level() {
    let hosts = Hosts::new([0, 1, 0, 1]).expect("two levels");
    let seat = seat_on(&hosts, 0, 4, Some(Algorithm::Leaders));
    for operation in [Operation::Scan, Operation::Exscan] {
        assert_ne!(seat.choose(Shape::new(operation, 8)), Algorithm::Leaders);
    }
}
