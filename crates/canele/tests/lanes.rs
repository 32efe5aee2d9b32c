//! Flows on lanes: threads that communicate at the same time, each on a flow of its own.

use std::thread;
use std::time::Duration;

use canele::{ANY_SOURCE, ANY_TAG, Flow, Job, Op, Rank, Tag, testing};

/// Ranks that may have so many lanes.
fn ranks(size: u32, lanes: u32) -> testing::Ranks {
    testing::Ranks::new(size).variable("CANELE_LANES", lanes.to_string())
}

/// What a thread does on its flow: messages of several lengths around a ring, and what needs all members.
fn exchange(flow: &Flow, seed: u64) -> Result<(), canele::Error> {
    let (me, size) = (flow.rank().0, flow.size());
    let (next, before) = (Rank((me + 1) % size), Rank((me + size - 1) % size));
    for round in 0..50 {
        let length = [1, 7, 300, 5000, 40_000, 200_000][(round + seed as usize) % 6];
        let mine = vec![seed * 1000 + u64::from(me); length];
        let request = flow.isend(next, Tag(round as u32), mine)?;
        let (status, got) = flow.irecv(ANY_SOURCE, ANY_TAG, vec![0; length])?.wait()?;
        assert_eq!((status.source, status.tag), (before, Tag(round as u32)));
        assert!(got.iter().all(|word| *word == seed * 1000 + u64::from(before.0)), "round {round}");
        request.wait()?;
        let mut sum = [0];
        flow.allreduce(&[u64::from(me) + seed], &mut sum, Op::Sum)?;
        assert_eq!(sum[0], u64::from(size) * seed + u64::from(size * (size - 1) / 2));
    }
    Ok(())
}

fn in_threads(job: &Job, flows: Vec<Flow>) -> testing::RankResult {
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..).zip(&flows).map(|(seed, flow)| scope.spawn(move || exchange(flow, seed))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a thread of the test"))
    })?;
    drop(flows);
    job.world().barrier()?;
    Ok(())
}

#[test]
fn threads_exchange_on_flows_of_several_lanes() {
    ranks(3, 4).run(|job| {
        let flows = (0..6).map(|_| job.world().duplicate()).collect::<Result<_, _>>()?;
        in_threads(job, flows)
    });
}

#[test]
fn flows_that_are_made_of_flows_of_lanes_work_too() {
    ranks(2, 3).run(|job| {
        for _ in 0..20 {
            let first = job.world().duplicate()?;
            let second = first.duplicate()?;
            let third = second.duplicate()?;
            in_threads(job, vec![third, second, first])?;
        }
        Ok(())
    });
}

#[test]
fn a_lane_whose_threads_compute_has_messages_all_the_same() {
    ranks(2, 2).run(|job| {
        let (world, other) = (job.world(), job.world().duplicate()?);
        let peer = Rank(1 - job.rank().0);
        if job.rank().0 == 0 {
            // Longer than is sent unasked: it waits for its receiver.
            let sent = other.isend(peer, Tag(1), vec![7_u8; 1 << 20])?;
            // Waits on the first lane alone, until the receiver has got what lies on the other one.
            let mut done = [0_u8];
            world.recv_deadline(peer, Tag(2), &mut done, Duration::from_secs(20))?;
            sent.wait()?;
        } else {
            let (_, got) = other.irecv(peer, Tag(1), vec![0_u8; 1 << 20])?.wait()?;
            assert!(got.iter().all(|byte| *byte == 7));
            world.send(peer, Tag(2), &[1_u8])?;
        }
        Ok(())
    });
}
