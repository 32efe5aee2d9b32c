//! Schedules of all ranks, run in one process without any engine, against what the operations mean.

use std::collections::{HashMap, VecDeque};

use canele_sys::ids::Rank;

use super::build::bruck;
use super::choose::{Operation, Seat, Shape, schedule};
use super::memory::Memory;
use super::reduce::{Op, Reduction};
use super::schedule::Schedule;

/// One rank of the model.
struct Model {
    schedule: Schedule,
    round: usize,
    received: usize,
    input: Vec<u64>,
    output: Vec<u64>,
    scratch: Vec<u64>,
}

type Wires = HashMap<(usize, usize), VecDeque<Vec<u8>>>;

impl Model {
    /// Goes on as far as it can; says whether it moved.
    fn advance(&mut self, me: usize, wires: &mut Wires, reduction: Reduction, started: &mut bool) -> bool {
        let mut memory = Memory {
            input: bytemuck::cast_slice(&self.input),
            output: bytemuck::cast_slice_mut(&mut self.output),
            scratch: bytemuck::cast_slice_mut(&mut self.scratch),
        };
        let Some(round) = self.schedule.rounds.get(self.round) else { return false };
        let mut moved = false;
        if !std::mem::replace(started, true) {
            // What a round touches must be apart; `cut` checks it.
            memory.cut(&round.sends, &round.receives);
            for send in &round.sends {
                let wire = wires.entry((me, send.peer.0 as usize)).or_default();
                wire.push_back(memory.read(send.span).to_vec());
            }
            moved = true;
        }
        while let Some(receive) = round.receives.get(self.received) {
            let wire = wires.entry((receive.peer.0 as usize, me)).or_default();
            let Some(message) = wire.pop_front() else { return moved };
            memory.write(receive.span).copy_from_slice(&message);
            self.received += 1;
            moved = true;
        }
        round.then.iter().for_each(|local| memory.work(*local, Some(reduction.kernel)));
        (self.round, self.received, *started) = (self.round + 1, 0, false);
        true
    }
}

/// Runs a collective of `words` 64-bit words per block on a model of `ranks` ranks; gives all outputs.
fn run(
    ranks: usize,
    crowded: bool,
    operation: Operation,
    words: usize,
    inputs: &[Vec<u64>],
    op: Op,
) -> Vec<Vec<u64>> {
    let shape = Shape { operation, bytes: words * 8, element: 8 };
    let build = |me| schedule(Seat { me, ranks, crowded }, shape);
    run_built(ranks, build, operation, words, inputs, op)
}

/// The same with schedules of another making.
fn run_built(
    ranks: usize,
    build: impl Fn(usize) -> Schedule,
    operation: Operation,
    words: usize,
    inputs: &[Vec<u64>],
    op: Op,
) -> Vec<Vec<u64>> {
    let mut models: Vec<Model> = inputs
        .iter()
        .enumerate()
        .map(|(me, input)| {
            let schedule = build(me);
            let scratch = vec![0; schedule.scratch_bytes.div_ceil(8)];
            let blocks = match operation {
                Operation::Gather(_) | Operation::Allgather | Operation::Alltoall => ranks,
                _ => 1,
            };
            let output = match operation {
                Operation::Broadcast(root) if root.0 as usize == me => input.clone(),
                _ => vec![0xAAAA; blocks * words],
            };
            Model { schedule, round: 0, received: 0, input: input.clone(), output, scratch }
        })
        .collect();
    let (mut wires, reduction) = (Wires::new(), Reduction::of::<u64>(op));
    let mut started = vec![false; ranks];
    loop {
        let mut moved = false;
        for (me, model) in models.iter_mut().enumerate() {
            moved |= model.advance(me, &mut wires, reduction, &mut started[me]);
        }
        if !moved {
            break;
        }
    }
    for (me, model) in models.iter().enumerate() {
        assert_eq!(model.round, model.schedule.rounds.len(), "rank {me} of {ranks} hangs in {operation:?}");
    }
    assert!(wires.values().all(VecDeque::is_empty), "{operation:?} leaves messages behind");
    models.into_iter().map(|model| model.output).collect()
}

/// Different words for every rank and place.
fn inputs(ranks: usize, words: usize) -> Vec<Vec<u64>> {
    let word = |rank: usize, at: usize| {
        ((rank * 1_000_003 + at * 7919 + 17) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    };
    (0..ranks).map(|rank| (0..words).map(|at| word(rank, at)).collect()).collect()
}

/// Every number of ranks, every size around the choices, crowded or not.
fn each(mut check: impl FnMut(usize, bool, usize)) {
    for ranks in [1, 2, 3, 4, 5, 6, 7, 8, 13, 16] {
        for words in [0, 1, 3, 100, 700, 5_000] {
            check(ranks, false, words);
            check(ranks, true, words);
        }
    }
}

fn roots(ranks: usize) -> impl Iterator<Item = Rank> {
    [0, ranks / 2, ranks - 1].into_iter().map(|root| Rank(root as u32))
}

#[test]
fn barriers_end() {
    each(|ranks, crowded, _| {
        run(ranks, crowded, Operation::Barrier, 0, &vec![vec![]; ranks], Op::Sum);
    });
}

#[test]
fn nobody_leaves_a_barrier_before_everybody_has_come() {
    for ranks in 2..20 {
        for crowded in [false, true] {
            for late in 0..ranks {
                // What rank 0 hears of, directly or not, before anybody may go: all but the late one never suffices.
                let mut heard: Vec<Vec<bool>> =
                    (0..ranks).map(|me| (0..ranks).map(|r| r == me).collect()).collect();
                let shape = Shape { operation: Operation::Barrier, bytes: 0, element: 1 };
                let all: Vec<Schedule> =
                    (0..ranks).map(|me| schedule(Seat { me, ranks, crowded }, shape)).collect();
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
fn broadcasts_reach_everybody() {
    each(|ranks, crowded, words| {
        for root in roots(ranks) {
            let inputs = inputs(ranks, words);
            let outputs = run(ranks, crowded, Operation::Broadcast(root), words, &inputs, Op::Sum);
            assert!(
                outputs.iter().all(|output| *output == inputs[root.0 as usize]),
                "{ranks} {crowded} {words}"
            );
        }
    });
}

#[test]
fn reductions_reduce() {
    each(|ranks, crowded, words| {
        for op in [Op::Sum, Op::Max] {
            let inputs = inputs(ranks, words);
            let expected: Vec<u64> = (0..words)
                .map(|at| {
                    let all = inputs.iter().map(|input| input[at]);
                    if op == Op::Sum { all.fold(0, u64::wrapping_add) } else { all.max().unwrap_or(0) }
                })
                .collect();
            let outputs = run(ranks, crowded, Operation::Allreduce, words, &inputs, op);
            assert!(outputs.iter().all(|output| *output == expected), "{ranks} {crowded} {words}");
            for root in roots(ranks) {
                let outputs = run(ranks, crowded, Operation::Reduce(root), words, &inputs, op);
                assert_eq!(outputs[root.0 as usize], expected, "{ranks} {crowded} {words} {root}");
            }
        }
    });
}

#[test]
fn blocks_go_where_they_belong() {
    each(|ranks, crowded, words| {
        let one = inputs(ranks, words);
        let many = inputs(ranks, words * ranks);
        let gathered = one.concat();
        for root in roots(ranks) {
            let outputs = run(ranks, crowded, Operation::Gather(root), words, &one, Op::Sum);
            assert_eq!(outputs[root.0 as usize], gathered, "{ranks} {crowded} {words} {root}");
            let outputs = run(ranks, crowded, Operation::Scatter(root), words, &many, Op::Sum);
            let from = &many[root.0 as usize];
            for (me, output) in outputs.iter().enumerate() {
                assert_eq!(*output, from[me * words..(me + 1) * words], "{ranks} {crowded} {words} {root}");
            }
        }
        let outputs = run(ranks, crowded, Operation::Allgather, words, &one, Op::Sum);
        assert!(outputs.iter().all(|output| *output == gathered), "{ranks} {crowded} {words}");
        let outputs = run(ranks, crowded, Operation::Alltoall, words, &many, Op::Sum);
        check_alltoall(&outputs, &many, words);
    });
}

/// Block `r` of each input is in the output of rank `r`.
fn check_alltoall(outputs: &[Vec<u64>], inputs: &[Vec<u64>], words: usize) {
    for (me, output) in outputs.iter().enumerate() {
        let expected: Vec<u64> =
            inputs.iter().flat_map(|from| &from[me * words..(me + 1) * words]).copied().collect();
        assert_eq!(*output, expected, "{words} words for rank {me} of {}", outputs.len());
    }
}

#[test]
fn carrying_blocks_for_others_brings_them_where_they_belong() {
    for ranks in (1..40).chain([63, 64, 65, 127, 128, 130]) {
        for words in [0, 1, 3] {
            let inputs = inputs(ranks, words * ranks);
            let build = |me| bruck::alltoall(Seat { me, ranks, crowded: false }, words * 8);
            let outputs = run_built(ranks, build, Operation::Alltoall, words, &inputs, Op::Sum);
            check_alltoall(&outputs, &inputs, words);
        }
    }
}

#[test]
fn many_ranks_exchange_a_few_bytes_in_few_messages() {
    let messages = |ranks, bytes| {
        let shape = Shape { operation: Operation::Alltoall, bytes, element: 1 };
        let schedule = schedule(Seat { me: 5, ranks, crowded: false }, shape);
        schedule.rounds.iter().map(|round| round.sends.len()).sum::<usize>()
    };
    assert_eq!([messages(8, 8), messages(100, 1024)], [7, 99]);
    assert_eq!([messages(64, 8), messages(100, 256), messages(10_000, 8)], [6, 7, 14]);
    let inputs = inputs(100, 100);
    check_alltoall(&run(100, false, Operation::Alltoall, 1, &inputs, Op::Sum), &inputs, 1);
}

#[test]
fn only_short_data_takes_the_middle() {
    let rounds = |crowded, bytes| {
        let shape = Shape { operation: Operation::Allreduce, bytes, element: 8 };
        schedule(Seat { me: 3, ranks: 8, crowded }, shape).rounds.len()
    };
    assert_eq!(rounds(true, 8), 1);
    assert!(rounds(true, 8 << 10) > 1 && rounds(false, 8) > 1);
    assert!(rounds(false, 1 << 20) > 2 * 7, "long data takes the ring");
}
