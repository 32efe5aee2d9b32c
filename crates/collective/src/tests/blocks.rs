//! Blocks that lie in the output already, and blocks of any length, of ranks that share processors and of
//! others.

use super::hosts::{PLACEMENTS, seat_on};
use super::{Model, inputs, run_all, schedule_of, seat};
use crate::choose::{Algorithm, Seat, uneven};
use crate::hosts::Hosts;
use crate::reduce::{Op, Reduction};
use crate::spec::{Block, Operation, Root, Shape, Uneven};

fn each(mut check: impl FnMut(usize, bool, usize)) {
    for ranks in [1, 2, 3, 5, 8] {
        for words in [0, 1, 3, 100, 5_000] {
            check(ranks, false, words);
            check(ranks, true, words);
        }
    }
    check(66, false, 2);
}

/// Calls `check` for these, and for members on several hosts, each with a leader.
fn each_on_hosts(mut check: impl FnMut(Option<&Hosts>, usize, bool, usize)) {
    each(|ranks, oversubscribed, words| check(None, ranks, oversubscribed, words));
    for placement in PLACEMENTS {
        let hosts = Hosts::new(placement.iter().copied()).expect("two levels");
        for words in [0, 1, 3, 700] {
            check(Some(&hosts), placement.len(), false, words);
            check(Some(&hosts), placement.len(), true, words);
        }
    }
}

fn seat_among(hosts: Option<&Hosts>, me: usize, ranks: usize, oversubscribed: bool) -> Seat {
    match hosts {
        Some(hosts) => Seat { oversubscribed, ..seat_on(hosts, me, ranks, Some(Algorithm::Leaders)) },
        None => seat(me, ranks, oversubscribed),
    }
}

#[test]
fn blocks_in_place_go_where_they_belong() {
    each(|ranks, oversubscribed, words| {
        let shape = |operation| Shape { in_place: true, ..Shape::new(operation, words * 8) };
        let all = inputs(ranks, ranks * words);
        let run = |operation, input: &dyn Fn(usize) -> Vec<u64>, output: &dyn Fn(usize) -> Vec<u64>| {
            let model = |me| {
                let in_place =
                    !matches!(operation, Operation::Gather(_) | Operation::Scatter(_)) || me == ranks / 2;
                let shape = Shape { in_place, ..shape(operation) };
                Model::new(schedule_of(seat(me, ranks, oversubscribed), shape), input(me), output(me))
            };
            run_all(
                &format!("{operation:?}"),
                (0..ranks).map(model).collect(),
                &Reduction::of::<u64>(Op::Sum),
            )
        };
        let own = |me: usize| all[me][me * words..(me + 1) * words].to_vec();
        let placed = |me: usize| {
            let mut room = vec![0xAAAA; ranks * words];
            room[me * words..(me + 1) * words].copy_from_slice(&own(me));
            room
        };
        let gathered: Vec<u64> = (0..ranks).flat_map(own).collect();
        let outputs = run(Operation::Allgather, &|_| Vec::new(), &placed);
        assert!(outputs.iter().all(|output| *output == gathered), "{ranks} {oversubscribed} {words}");
        let root = Root::At(ranks as u32 / 2);
        let outputs = run(Operation::Gather(root), &own, &placed);
        assert_eq!(outputs[ranks / 2], gathered, "{ranks} {oversubscribed} {words}");
        let outputs = run(Operation::Scatter(root), &|me| all[me].clone(), &|_| vec![0xAAAA; words]);
        for (me, output) in outputs.iter().enumerate() {
            let expected = all[ranks / 2][me * words..(me + 1) * words].to_vec();
            assert_eq!(*output, if me == ranks / 2 { vec![0xAAAA; words] } else { expected });
        }
        let outputs = run(Operation::Alltoall, &|_| Vec::new(), &|me| all[me].clone());
        for (me, output) in outputs.iter().enumerate() {
            let expected: Vec<u64> =
                all.iter().flat_map(|from| from[me * words..(me + 1) * words].to_vec()).collect();
            assert_eq!(*output, expected, "{ranks} {oversubscribed} {words}");
        }
    });
}

/// Makes blocks of different lengths, the last first, with a word between them.
fn scattered(words: &[usize]) -> Vec<Block> {
    let mut at = 8;
    let mut blocks: Vec<Block> = words
        .iter()
        .rev()
        .map(|words| {
            let block = Block { at, len: words * 8 };
            at += block.len + 8;
            block
        })
        .collect();
    blocks.reverse();
    blocks
}

/// Makes contiguous blocks.
fn packed(words: &[usize]) -> Vec<Block> {
    let ends = words.iter().scan(0, |end, words| {
        *end += words * 8;
        Some(*end)
    });
    ends.zip(words).map(|(end, words)| Block { at: end - words * 8, len: words * 8 }).collect()
}

fn words_of(block: Block) -> std::ops::Range<usize> {
    block.at / 8..(block.at + block.len) / 8
}

#[test]
fn blocks_of_any_length_come_together() {
    each_on_hosts(|hosts, ranks, oversubscribed, words| {
        let lens: Vec<usize> = (0..ranks).map(|rank| rank * words % (2 * words + 1)).collect();
        let given = inputs(ranks, 2 * words + 1);
        let room = lens.iter().sum::<usize>() + ranks + 1;
        let layouts = [scattered(&lens), packed(&lens)];
        for (all, in_place) in layouts.iter().flat_map(|all| [(all, false), (all, true)]) {
            let model = |me: usize| {
                let mut output = vec![0xAAAA; room];
                let mine = (!in_place).then_some(Block { at: 0, len: lens[me] * 8 });
                if in_place {
                    output[words_of(all[me])].copy_from_slice(&given[me][..lens[me]]);
                }
                let spec = Uneven::Allgather { mine, all };
                let schedule =
                    uneven(seat_among(hosts, me, ranks, oversubscribed), (None, hosts), spec).unwrap();
                Model::new(schedule, given[me].clone(), output)
            };
            let mut expected = vec![0xAAAA; room];
            for (rank, block) in all.iter().enumerate() {
                expected[words_of(*block)].copy_from_slice(&given[rank][..lens[rank]]);
            }
            let models = (0..ranks).map(model).collect();
            let outputs = run_all("allgather", models, &Reduction::of::<u64>(Op::Sum));
            assert!(outputs.iter().all(|output| *output == expected), "{ranks} {oversubscribed} {words}");
        }
    });
}

#[test]
fn blocks_of_any_length_are_reduced() {
    each_on_hosts(|hosts, ranks, oversubscribed, words| {
        let lens: Vec<usize> = (0..ranks).map(|rank| rank * words % (2 * words + 1) * 8).collect();
        let total = lens.iter().sum::<usize>() / 8;
        let given = inputs(ranks, total);
        let expected: Vec<u64> =
            (0..total).map(|at| given.iter().fold(0u64, |sum, input| sum.wrapping_add(input[at]))).collect();
        for commutative in [false, true] {
            let model = |me: usize| {
                let spec = Uneven::ReduceScatter {
                    lens: &lens,
                    element: 8,
                    commutative,
                    in_place: !me.is_multiple_of(2),
                };
                let schedule =
                    uneven(seat_among(hosts, me, ranks, oversubscribed), (None, hosts), spec).unwrap();
                let (input, output) = if !me.is_multiple_of(2) {
                    (Vec::new(), given[me].clone())
                } else {
                    (given[me].clone(), vec![0; lens[me] / 8])
                };
                Model::new(schedule, input, output)
            };
            let models = (0..ranks).map(model).collect();
            let outputs = run_all("reduce_scatter", models, &Reduction::of::<u64>(Op::Sum));
            let mut rest = &expected[..];
            for (output, len) in outputs.iter().zip(&lens) {
                assert_eq!(output[..len / 8], rest[..len / 8], "{ranks} {oversubscribed} {words}");
                rest = &rest[len / 8..];
            }
        }
    });
}
