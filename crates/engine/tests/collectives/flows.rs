//! Numbers of flows: agreed on, given back, and used again.

use std::collections::HashSet;
use std::sync::Arc;
use std::thread;

use canele_engine::collective::Team;
use canele_engine::{Engine, FlowId, Mode, Rank, Tag, Want};
use canele_sys::tunables::Wait;

use crate::{add, job};

fn team(engine: &Engine, members: &[u32]) -> Option<Team> {
    let me = members.iter().position(|rank| *rank == engine.rank().0)?;
    Some(Team::new(me, members.iter().map(|rank| Rank(*rank)).collect::<Arc<[Rank]>>()))
}

#[test]
fn threads_with_different_parents_never_get_the_same_flow() {
    let all = job(3, Wait::Adaptive, |engine| {
        thread::scope(|scope| {
            let get = |parent: u32| {
                move || -> Vec<u32> {
                    (0..60).map(|_| engine.create_flow(FlowId(parent)).unwrap().0).collect()
                }
            };
            let threads: Vec<_> = [1, 3, 9].into_iter().map(|parent| scope.spawn(get(parent))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        })
    });
    assert!(all.iter().all(|flows| *flows == all[0]), "ranks do not agree");
    let different: HashSet<u32> = all[0].iter().flatten().copied().collect();
    assert_eq!(different.len(), 180);
}

#[test]
fn numbers_that_were_given_back_are_used_again() {
    job(2, Wait::Adaptive, |engine| {
        let kept = engine.create_flow(FlowId(1)).unwrap();
        let first = engine.create_flow(FlowId(1)).unwrap();
        engine.free_flow(first).unwrap();
        for _ in 0..2000 {
            let flow = engine.create_flow(FlowId(1)).unwrap();
            assert_eq!(flow, first);
            assert_eq!(add(engine, flow.0 + 1, 1).unwrap(), 2);
            engine.free_flow(flow).unwrap();
        }
        assert_ne!(engine.create_flow(FlowId(1)).unwrap(), kept);
    });
}

#[test]
fn messages_without_a_receive_are_gone_with_their_flow() {
    job(2, Wait::Adaptive, |engine| {
        let other = Rank(1 - engine.rank().0);
        for bytes in [8, 1000, 100_000] {
            let flow = engine.create_flow(FlowId(1)).unwrap();
            let pending: Vec<_> = [flow, FlowId(flow.0 + 1)]
                .map(|flow| {
                    let buffer = canele_mem::buffer::Owned::new(vec![1u8; bytes]);
                    let mut buffer = Box::new(buffer);
                    let out = buffer.lend_out();
                    let sent = engine.isend(other, flow, Tag(1 << 31), Mode::Standard, out);
                    (sent.map_err(|refused| refused.0).unwrap(), buffer)
                })
                .into();
            // It has come: messages of a link come in their order.
            engine.send(other, FlowId(0), Tag(0), Mode::Standard, &[], None).unwrap();
            let want = |tag| Want { source: Some(other), tag };
            engine.recv(FlowId(0), want(Some(Tag(0))), &mut [], None).unwrap();
            assert!(engine.iprobe(flow, want(None)).unwrap().is_some(), "{bytes}");
            engine.free_flow(flow).unwrap();
            assert!(engine.iprobe(flow, want(None)).unwrap().is_none());
            assert!(engine.iprobe(FlowId(flow.0 + 1), want(None)).unwrap().is_none());
            for (pending, mut buffer) in pending {
                match engine.wait(pending, None).unwrap().buffer {
                    canele_engine::Buffer::Out(out) => buffer.take_back_out(out),
                    _ => panic!("a send gives its buffer back"),
                }
            }
            assert_eq!(add(engine, 1, 1).unwrap(), 2);
        }
    });
}

#[test]
fn members_agree_without_a_parent() {
    let all = job(4, Wait::Adaptive, |engine| {
        let teams: [&[u32]; 4] = [&[0, 1], &[3, 2], &[2, 0, 3], &[1]];
        let mut flows = Vec::new();
        for (n, members) in teams.iter().enumerate() {
            let Some(team) = team(engine, members) else { continue };
            for turn in 0..20 {
                let tag = Tag(1 << 31 | (n as u32) << 16);
                let flow = engine.agree_among(&team, (FlowId(1), tag)).unwrap();
                let of_collectives = FlowId(flow.0 + 1);
                engine.set_team(of_collectives, team.clone()).unwrap();
                let sum = add(engine, of_collectives.0, engine.rank().0.into()).unwrap();
                assert_eq!(sum, members.iter().map(|rank| u64::from(*rank)).sum::<u64>(), "turn {turn}");
                flows.push((n, turn, flow));
            }
        }
        flows
    });
    for (rank, flows) in all.iter().enumerate() {
        let different: HashSet<FlowId> = flows.iter().map(|(.., flow)| *flow).collect();
        assert_eq!(different.len(), flows.len(), "rank {rank} has one flow twice");
    }
    let of_two: Vec<_> = all[0].iter().filter(|(n, ..)| *n == 2).collect();
    assert!(of_two.into_iter().eq(all[3].iter().filter(|(n, ..)| *n == 2)));
}

#[test]
fn a_flow_that_is_used_anew_has_no_messages_of_before() {
    let told = job(2, Wait::Adaptive, |engine| {
        let (first, tag) = (engine.create_flow(FlowId(1)).unwrap(), Tag(7));
        let mut byte = [0];
        let any = Want { source: None, tag: Some(tag) };
        // Rank 1 has given the flow back when rank 0 sends on it.
        if engine.rank() == Rank(1) {
            engine.free_flow(first).unwrap();
            engine.send(Rank(0), FlowId(0), tag, Mode::Standard, &[0], None).unwrap();
        } else {
            engine.recv(FlowId(0), any, &mut byte, None).unwrap();
            engine.send(Rank(1), first, tag, Mode::Standard, &[1], None).unwrap();
            engine.free_flow(first).unwrap();
        }
        let again = engine.create_flow(FlowId(1)).unwrap();
        assert_eq!(again, first, "the first flow that is free");
        if engine.rank() == Rank(0) {
            engine.send(Rank(1), again, tag, Mode::Standard, &[2], None).unwrap();
        } else {
            engine.recv(again, any, &mut byte, None).unwrap();
        }
        byte[0]
    });
    assert_eq!(told[1], 2, "what was sent on the new flow");
}
