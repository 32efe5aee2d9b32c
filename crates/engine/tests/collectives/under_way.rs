//! Non-blocking collectives: many at a time, beside other operations, from several threads.

use std::thread;

use canele_engine::collective::{Buffers, CollectiveBuffer, Operation, Root};
use canele_engine::{Engine, FlowId, Mode, Pending, Rank, Tag, Want};
use canele_sys::tunables::Wait;

use crate::{add, job, output, own, shape, start, sum};

const FLOW: u32 = 9;

/// Returns the input of rank `rank` in turn `turn`.
fn given(rank: usize, turn: usize, words: usize) -> Vec<u64> {
    (0..words).map(|at| (rank * 1000 + turn * 77 + at) as u64).collect()
}

fn expected_sum(ranks: usize, turn: usize, words: usize) -> Vec<u64> {
    let all: Vec<Vec<u64>> = (0..ranks).map(|rank| given(rank, turn, words)).collect();
    (0..words).map(|at| all.iter().map(|given| given[at]).sum()).collect()
}

/// Starts several, does others meanwhile, and takes them in the order in which they end.
fn many(engine: &Engine, turn: usize, words: usize) {
    let (me, ranks) = (engine.rank().0 as usize, engine.size() as usize);
    let mine = given(me, turn, words);
    let to_all: Vec<u64> = (0..ranks).flat_map(|to| given(me, turn + to, words)).collect();
    let mut pending = vec![
        start(engine, FLOW, Operation::Allreduce, &mine, words),
        start(engine, FLOW, Operation::Allgather, &mine, words * ranks),
        start(engine, FLOW, Operation::Barrier, &[], 0),
        start(engine, FLOW, Operation::Alltoall, &to_all, words * ranks),
        start(engine, FLOW, Operation::Allreduce, &mine, words),
    ];
    let next = Rank((me as u32 + 1) % ranks as u32);
    if ranks > 1 {
        engine.send(next, FlowId(0), Tag(1), Mode::Standard, &[me as u8], None).unwrap();
    }
    assert_eq!(add(engine, FLOW, 1).unwrap(), ranks as u64, "a blocking one behind them");
    if ranks > 1 {
        let mut from = [0];
        let want = Want { source: None, tag: Some(Tag(1)) };
        engine.recv(FlowId(0), want, &mut from, None).unwrap();
    }
    let gathered: Vec<u64> = (0..ranks).flat_map(|rank| given(rank, turn, words)).collect();
    let exchanged: Vec<u64> = (0..ranks).flat_map(|rank| given(rank, turn + me, words)).collect();
    let sum = expected_sum(ranks, turn, words);
    let mut expected = vec![sum.clone(), gathered, Vec::new(), exchanged, sum];
    while !pending.is_empty() {
        let (at, ended) = engine.wait_any(&pending, None).unwrap();
        pending.remove(at);
        let expected = expected.remove(at);
        assert_eq!(output(ended).unwrap()[..expected.len()], expected, "turn {turn}, {words} words");
    }
}

#[test]
fn many_are_under_way_at_a_time() {
    for (ranks, wait) in [(1, Wait::Adaptive), (2, Wait::Adaptive), (3, Wait::Sleep), (4, Wait::Adaptive)] {
        job(ranks, wait, |engine| {
            for (turn, words) in [0, 1, 5, 100, 700, 5000, 40_000, 1, 1].into_iter().enumerate() {
                many(engine, turn, words);
            }
        });
    }
}

#[test]
fn testing_alone_brings_them_to_their_end() {
    job(3, Wait::Adaptive, |engine| {
        for words in [1, 10_000] {
            let mine = given(engine.rank().0 as usize, 0, words);
            let pending = start(engine, FLOW, Operation::Allreduce, &mine, words);
            assert!(!pending.is_free() && !engine.cancel(pending).unwrap());
            let ended = loop {
                match engine.test(pending).unwrap() {
                    Some(ended) => break ended,
                    None => thread::yield_now(),
                }
            };
            assert_eq!(output(ended).unwrap(), expected_sum(3, 0, words));
        }
    });
}

#[test]
fn a_rank_that_waits_for_anything_takes_them_further() {
    job(2, Wait::Sleep, |engine| {
        let me = engine.rank().0;
        let words = if me == 0 { vec![7; 20_000] } else { vec![0; 20_000] };
        let shape = shape(Operation::Broadcast(Root::At(0)), words.len());
        let buffers = Buffers { input: CollectiveBuffer::Nowhere, output: own(&words) };
        let pending = engine.start_collective(FlowId(FLOW), shape, None, buffers).unwrap();
        // Rank 1 has its data before it asks for it: the message behind it proves that.
        let want = |tag| Want { source: Some(Rank(1 - me)), tag: Some(Tag(tag)) };
        let mut byte = [0];
        if me == 0 {
            engine.recv(FlowId(0), want(1), &mut byte, None).unwrap();
            let mut ended = None;
            engine.completions(|completions| ended = completions.take(pending)).unwrap();
            assert!(ended.is_some_and(|ended| ended.result.is_ok()));
        } else {
            let ended = engine.wait(pending, None).unwrap();
            assert_eq!(output(ended).unwrap(), [7; 20_000]);
            engine.send(Rank(0), FlowId(0), Tag(1), Mode::Standard, &byte, None).unwrap();
        }
    });
}

#[test]
fn threads_wait_for_different_ones() {
    job(2, Wait::Adaptive, |engine| {
        thread::scope(|scope| {
            for flow in [FLOW, FLOW + 2, FLOW + 4] {
                scope.spawn(move || {
                    for turn in 0..200 {
                        let words = if turn % 10 == 0 { 3000 } else { 2 };
                        let mine = given(engine.rank().0 as usize, turn, words);
                        let pending = start(engine, flow, Operation::Allreduce, &mine, words);
                        if turn % 3 == 0 {
                            assert_eq!(add(engine, flow, 2).unwrap(), 4);
                        }
                        let ended = engine.wait(pending, None).unwrap();
                        assert_eq!(output(ended).unwrap(), expected_sum(2, turn, words));
                    }
                });
            }
        });
    });
}

#[test]
fn one_made_ready_is_started_again_and_again() {
    job(3, Wait::Adaptive, |engine| {
        let (me, ranks) = (engine.rank().0 as usize, 3);
        let plan = engine.plan(FlowId(FLOW), shape(Operation::Scan, 4)).unwrap();
        for turn in 0..100 {
            let buffers = Buffers { input: own(&given(me, turn, 4)), output: own(&[0; 4]) };
            let pending: Pending = engine.start_plan(FlowId(FLOW), &plan, Some(sum()), || buffers).unwrap();
            let result = output(engine.wait(pending, None).unwrap()).unwrap();
            assert_eq!(result, expected_sum(me + 1, turn, 4), "of {ranks}");
        }
    });
}

#[test]
fn two_made_ready_are_started_in_any_order() {
    job(3, Wait::Adaptive, |engine| {
        let me = engine.rank().0 as usize;
        let plans = [0, 1].map(|_| engine.plan(FlowId(FLOW), shape(Operation::Allreduce, 4)).unwrap());
        for turn in 0..100 {
            let start = |n: usize| {
                let given = given(me, 2 * turn + n, 4);
                let buffers = Buffers { input: own(&given), output: own(&[0; 4]) };
                engine.start_plan(FlowId(FLOW), &plans[n], Some(sum()), || buffers).unwrap()
            };
            // Odd ranks start the second first.
            let first = me % 2;
            let mut pending = [start(first), start(1 - first)];
            pending.rotate_left(first);
            for (n, pending) in pending.into_iter().enumerate() {
                let result = output(engine.wait(pending, None).unwrap()).unwrap();
                assert_eq!(result, expected_sum(3, 2 * turn + n, 4), "plan {n}");
            }
        }
    });
}

#[test]
fn what_is_started_and_what_blocks_are_counted_apart() {
    job(2, Wait::Adaptive, |engine| {
        let me = engine.rank().0 as usize;
        for turn in 0..100 {
            let start = || {
                let buffers = Buffers { input: own(&given(me, turn, 4)), output: own(&[0; 4]) };
                let spec = shape(Operation::Allreduce, 4);
                engine.start_collective(FlowId(FLOW), spec, Some(sum()), buffers).unwrap()
            };
            let barrier = || {
                let spec = shape(Operation::Barrier, 0);
                engine.collective(FlowId(FLOW), spec, None, &[], &mut []).unwrap();
            };
            let pending = if me == turn % 2 {
                let pending = start();
                barrier();
                pending
            } else {
                barrier();
                start()
            };
            let result = output(engine.wait(pending, None).unwrap()).unwrap();
            assert_eq!(result, expected_sum(2, turn, 4));
        }
    });
}
