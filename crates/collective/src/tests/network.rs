//! Algorithms with few messages one after the other, for networks between hosts: trees of blocks, Bruck's
//! allgather, halving.

use super::even::{at, check_reduced, run_built};
use super::{Model, inputs, run_all, seat};
use crate::build::{bruck, halving, tree};
use crate::choose::{Algorithm, CollectiveCosts, Seat, schedule, uneven};
use crate::reduce::{Op, Reduction};
use crate::schedule::{Schedule, ScheduleDraft, Span};
use crate::spec::{Block, Operation, Shape, Uneven};

fn built(build: impl FnOnce(&mut ScheduleDraft<'_>)) -> Schedule {
    let mut draft = ScheduleDraft::default();
    build(&mut draft);
    draft.finish()
}

/// Calls `check` for powers of two, their neighbours and all small numbers of ranks, with blocks of so many
/// words.
fn each(mut check: impl FnMut(usize, usize)) {
    for ranks in (1..18).chain([31, 32, 33, 63, 65]) {
        for words in [0, 1, 3, 700] {
            check(ranks, words);
        }
    }
}

/// Returns the most messages that one rank sends or receives one after the other.
fn rounds(schedules: impl Iterator<Item = Schedule>) -> usize {
    schedules.map(|schedule| schedule.rounds.len()).max().unwrap_or(0)
}

#[test]
fn trees_bring_blocks_to_the_root_and_back() {
    each(|ranks, words| {
        let (one, many) = (inputs(ranks, words), inputs(ranks, words * ranks));
        let blocks = |area: fn(usize, usize) -> Span| -> Vec<Span> {
            (0..ranks).map(|rank| area(rank * words * 8, words * 8)).collect()
        };
        let (from, into) = (blocks(Span::input), blocks(Span::output));
        let lens = |_| words * 8;
        for root in [0, 1, ranks / 2, ranks - 1].into_iter().filter(|root| *root < ranks) {
            let build = |me| {
                let input = Span::input(0, words * 8);
                built(|s| tree::gather(s, seat(me, ranks, false), root, (input, &lens), &into))
            };
            assert!(rounds((0..ranks).map(build)) <= 3);
            let outputs = run_built(ranks, build, Operation::Gather(at(root)), words, &one, Op::Sum);
            assert_eq!(outputs[root], one.concat(), "{ranks} {words} {root}");
            let build = |me| {
                let output = Span::output(0, words * 8);
                built(|s| tree::scatter(s, seat(me, ranks, false), root, &from, (output, &lens)))
            };
            let outputs = run_built(ranks, build, Operation::Scatter(at(root)), words, &many, Op::Sum);
            for (me, output) in outputs.iter().enumerate() {
                assert_eq!(*output, many[root][me * words..(me + 1) * words], "{ranks} {words} {root}");
            }
        }
    });
}

#[test]
fn a_root_of_a_tree_has_few_messages() {
    let blocks: Vec<Span> = (0..100).map(|rank| Span::output(rank * 8, 8)).collect();
    for root in [0, 37] {
        let schedule = built(|s| {
            tree::gather(s, seat(root, 100, false), root, (Span::input(0, 8), &|_| 8), &blocks);
        });
        let received: usize = schedule.rounds.iter().map(|round| round.receives.len()).sum();
        assert_eq!(received, 7);
    }
}

#[test]
fn each_rank_hands_on_what_it_has() {
    each(|ranks, words| {
        let one = inputs(ranks, words);
        let all: Vec<Span> = (0..ranks).map(|rank| Span::output(rank * words * 8, words * 8)).collect();
        let build =
            |me| built(|s| bruck::allgather(s, seat(me, ranks, false), Span::input(0, words * 8), &all));
        let outputs = run_built(ranks, build, Operation::Allgather, words, &one, Op::Sum);
        assert!(outputs.iter().all(|output| *output == one.concat()), "{ranks} {words}");
        let most = ranks.next_power_of_two().ilog2() as usize + 1;
        assert!(rounds((0..ranks).map(build)) <= most);
    });
}

#[test]
fn halves_are_reduced_by_partners() {
    each(|ranks, words| {
        let many = inputs(ranks, words * ranks);
        let lens = vec![words * 8; ranks];
        let build = |me| {
            let (input, output) = (Span::input(0, ranks * words * 8), Span::output(0, words * 8));
            built(|s| halving::reduce_scatter(s, seat(me, ranks, false), input, &lens, output))
        };
        let outputs = run_built(ranks, build, Operation::ReduceScatter, words, &many, Op::Sum);
        check_reduced(&outputs, &many, words);
        let most = ranks.ilog2() as usize + 3;
        assert!(rounds((0..ranks).map(build)) <= most);
    });
}

/// Makes a seat of a network, by one algorithm.
fn over_a_network(me: usize, ranks: usize, algorithm: Algorithm) -> Seat {
    Seat { costs: CollectiveCosts::default(), forced: Some(algorithm), ..seat(me, ranks, false) }
}

#[test]
fn blocks_of_any_length_with_gaps_in_any_order_are_handed_on() {
    for ranks in [2, 3, 7, 8, 13] {
        // The last block lies first, and behind each is a word that stays.
        let words = |rank: usize| rank % 4;
        let mut at = 0;
        let mut all = vec![Block::default(); ranks];
        for rank in (0..ranks).rev() {
            all[rank] = Block { at, len: words(rank) * 8 };
            at += all[rank].len + 8;
        }
        let inputs: Vec<Vec<u64>> = (0..ranks).map(|rank| vec![rank as u64 + 1; words(rank)]).collect();
        let mut expected = vec![0xAAAA; at / 8];
        for (rank, block) in all.iter().enumerate() {
            expected[block.at / 8..][..words(rank)].copy_from_slice(&inputs[rank]);
        }
        let models = (0..ranks).map(|me| {
            let mine = Some(Block { at: 0, len: all[me].len });
            let seat = over_a_network(me, ranks, Algorithm::Bruck);
            let made = uneven(seat, (None, None), Uneven::Allgather { mine, all: &all }).expect("blocks");
            Model::new(made, inputs[me].clone(), vec![0xAAAA; at / 8])
        });
        let outputs = run_all("blocks", models.collect(), &Reduction::of::<u64>(Op::Sum));
        assert!(outputs.iter().all(|output| *output == expected), "{ranks}");
        let lens: Vec<usize> = all.iter().map(|block| block.len).collect();
        let total: usize = lens.iter().sum::<usize>() / 8;
        let models = (0..ranks).map(|me| {
            let seat = over_a_network(me, ranks, Algorithm::Halving);
            let spec = Uneven::ReduceScatter { lens: &lens, element: 8, commutative: true, in_place: false };
            let made = uneven(seat, (None, None), spec).expect("lengths");
            Model::new(made, vec![me as u64; total], vec![0; words(me)])
        });
        let outputs = run_all("lengths", models.collect(), &Reduction::of::<u64>(Op::Sum));
        let sum = (ranks * (ranks - 1) / 2) as u64;
        assert!(outputs.iter().enumerate().all(|(me, output)| *output == vec![sum; words(me)]), "{ranks}");
    }
}

#[test]
fn in_place_and_apart_give_the_same() {
    let (ranks, words) = (7, 40);
    let root = at(2);
    for (operation, algorithm) in [
        (Operation::Gather(root), Algorithm::Tree),
        (Operation::Scatter(root), Algorithm::Tree),
        (Operation::Allgather, Algorithm::Bruck),
        (Operation::ReduceScatter, Algorithm::Halving),
    ] {
        let all = inputs(ranks, words * ranks);
        let run = |in_place: bool| {
            let models = (0..ranks).map(|me| {
                let is_own = operation.root().is_none() || me == 2;
                let shape =
                    Shape { element: 8, in_place: in_place && is_own, ..Shape::new(operation, words * 8) };
                let seat = over_a_network(me, ranks, algorithm);
                assert_eq!(seat.choose(shape), algorithm);
                let made = schedule(seat, (None, None), shape).expect("a call that can be");
                let mut output = all[me].clone();
                let is_gathered = matches!(operation, Operation::Gather(_) | Operation::Allgather);
                if is_gathered && in_place {
                    output[me * words..(me + 1) * words].copy_from_slice(&all[me][..words]);
                }
                Model::new(made, all[me].clone(), output)
            });
            let outputs = run_all("in place", models.collect(), &Reduction::of::<u64>(Op::Sum));
            let counted = |(me, output): (usize, Vec<u64>)| match operation {
                Operation::Gather(_) if me != 2 => Vec::new(),
                Operation::Scatter(_) if me == 2 => Vec::new(),
                Operation::Gather(_) | Operation::Allgather => output,
                _ => output[..words].to_vec(),
            };
            outputs.into_iter().enumerate().map(counted).collect::<Vec<_>>()
        };
        assert_eq!(run(true), run(false), "{operation:?}");
    }
}

#[test]
fn many_hosts_take_few_rounds_and_long_blocks_do_not() {
    let chosen = |operation, bytes| {
        let seat = Seat { costs: CollectiveCosts::default(), ..seat(3, 1000, false) };
        seat.choose(Shape { element: 8, ..Shape::new(operation, bytes) })
    };
    let root = at(0);
    assert_eq!(chosen(Operation::Scatter(root), 8), Algorithm::Tree);
    assert_eq!(chosen(Operation::Allgather, 8), Algorithm::Bruck);
    assert_eq!(chosen(Operation::ReduceScatter, 8), Algorithm::Halving);
    let inside = seat(3, 1000, false);
    assert_ne!(inside.choose(Shape::new(Operation::Scatter(root), 8)), Algorithm::Tree);
    assert_ne!(inside.choose(Shape::new(Operation::Allgather, 8)), Algorithm::Bruck);
}
