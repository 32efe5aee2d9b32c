//! Teams: their members, and the effect of deaths on them.

use std::sync::{Arc, Barrier};

use canele_engine::collective::{Operation, Root, Team};
use canele_engine::{Engine, Error, Failure, FlowId, Rank};
use canele_sys::tunables::Wait;

use crate::{add, job, output, shape, start};

fn set(engine: &Engine, flow: u32, members: &[u32]) -> bool {
    let Some(me) = members.iter().position(|rank| *rank == engine.rank().0) else { return false };
    let members = members.iter().map(|rank| Rank(*rank)).collect::<Arc<[Rank]>>();
    engine.set_team(FlowId(flow), Team::new(me, members)).unwrap();
    true
}

fn is_dead(result: Result<u64, Error>, rank: u32) -> bool {
    matches!(result, Err(Error::Failed(Failure::PeerFailed(dead))) if dead == Rank(rank))
}

#[test]
fn members_count_in_their_own_order() {
    job(4, Wait::Adaptive, |engine| {
        let members = [3, 0, 2];
        if !set(engine, 11, &members) {
            return;
        }
        for words in [1, 9000] {
            let mine = vec![u64::from(engine.rank().0); words];
            let pending = start(engine, 11, Operation::Allgather, &mine, 3 * words);
            let all = output(engine.wait(pending, None).unwrap()).unwrap();
            let expected: Vec<u64> = members.iter().flat_map(|rank| vec![u64::from(*rank); words]).collect();
            assert_eq!(all, expected);
            let mut item = [u64::from(engine.rank().0)];
            let spec = shape(Operation::Broadcast(Root::At(0)), 1);
            let item = bytemuck::cast_slice_mut::<u64, u8>(&mut item);
            engine.collective(FlowId(11), spec, None, &[], item).unwrap();
            assert_eq!(item, 3u64.to_ne_bytes(), "member 0 is rank 3");
        }
        let wrong =
            engine.collective(FlowId(11), shape(Operation::Gather(Root::At(3)), 1), None, &[], &mut []);
        assert!(matches!(wrong, Err(Error::NoSuchRank { size: 3, .. })), "{wrong:?}");
        engine.drop_team(FlowId(11)).unwrap();
    });
}

#[test]
fn a_death_concerns_the_teams_it_was_in() {
    let together = Arc::new(Barrier::new(4));
    job(4, Wait::Adaptive, move |engine| {
        // Beyond the flows that are made.
        for (flow, members) in [(21, &[0, 1, 2][..]), (23, &[0, 3]), (25, &[2, 1, 3])] {
            set(engine, flow, members);
        }
        assert_eq!(add(engine, 9, 1).unwrap(), 4);
        let me = engine.rank().0;
        // Rank 3 never makes these calls.
        let waiting = (me < 3)
            .then(|| [1, 5000].map(|words| start(engine, 9, Operation::Allreduce, &vec![1; words], words)));
        let own = (me < 3).then(|| start(engine, 21, Operation::Allreduce, &[1; 5000], 5000));
        together.wait();
        let (Some(waiting), Some(own)) = (waiting, own) else { return };
        engine.report_death(Rank(3));
        for pending in waiting {
            let ended = engine.wait(pending, None).unwrap();
            assert!(is_dead(output(ended).map(|_| 0), 3), "rank {me}");
        }
        for _ in 0..3 {
            assert!(is_dead(add(engine, 9, 1), 3));
            let pending = start(engine, 9, Operation::Barrier, &[], 0);
            assert!(is_dead(output(engine.wait(pending, None).unwrap()).map(|_| 0), 3));
            // A root needs no message of others.
            let pending = start(engine, 9, Operation::Broadcast(Root::At(me)), &[1], 1);
            assert!(
                is_dead(output(engine.wait(pending, None).unwrap()).map(|_| 0), 3),
                "it began after the death"
            );
        }
        let concerned = if me == 0 { 23 } else { 25 };
        assert!(is_dead(add(engine, concerned, 1), 3));
        assert_eq!(output(engine.wait(own, None).unwrap()).unwrap(), [3; 5000]);
        for _ in 0..100 {
            assert_eq!(add(engine, 21, 1).unwrap(), 3, "those who live go on");
        }
        let flow = engine.create_flow(FlowId(21)).unwrap();
        assert!(set(engine, flow.0 + 1, &[0, 1, 2]));
        assert_eq!(add(engine, flow.0 + 1, 1).unwrap(), 3);
    });
}

#[test]
fn a_death_ends_a_blocking_collective_that_waits() {
    for (wait, words) in [(Wait::Adaptive, 1), (Wait::Sleep, 1), (Wait::Adaptive, 50_000)] {
        let together = Arc::new(Barrier::new(4));
        job(4, wait, move |engine| {
            add(engine, 9, 1).unwrap();
            match engine.rank().0 {
                2 => drop(together.wait()),
                me => {
                    let dead = std::thread::scope(|scope| {
                        scope.spawn(|| {
                            together.wait();
                            std::thread::sleep(std::time::Duration::from_millis(20));
                            engine.report_death(Rank(2));
                        });
                        let (input, mut output) = (vec![0u8; words * 8], vec![0u8; words * 8]);
                        let shape = shape(Operation::Allreduce, words);
                        engine.collective(FlowId(9), shape, Some(&crate::sum()), &input, &mut output)
                    });
                    assert!(is_dead(dead.map(|()| 0), 2), "rank {me}");
                }
            }
        });
    }
}

#[test]
fn members_that_disagree_are_told() {
    job(2, Wait::Adaptive, |engine| {
        let me = engine.rank().0 as usize;
        for (n, (sent, expected)) in
            [(1, 2), (2, 1), (20_000, 30_000), (30_000, 20_000)].into_iter().enumerate()
        {
            let words = if me == 0 { sent } else { expected };
            let shape = shape(Operation::Broadcast(Root::At(0)), words);
            let mut room = vec![0u8; words * 8];
            let blocking = engine.collective(FlowId(9), shape, None, &[], &mut room);
            let buffers = canele_engine::collective::Buffers {
                output: crate::own(&vec![0; words]),
                ..Default::default()
            };
            let pending = engine.start_collective(FlowId(9), shape, None, buffers).unwrap();
            let ended = engine.wait(pending, None).unwrap();
            if me == 1 {
                assert!(blocking.is_err() && ended.result.is_err(), "case {n}: {blocking:?}");
            }
        }
    });
}
