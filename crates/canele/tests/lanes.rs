//! Flows on lanes: threads that communicate at the same time, each on a flow of its own.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use canele::{ANY_SOURCE, ANY_TAG, Flow, Job, Op, Rank, Tag, strategy, testing};
use canele_sys::atomic::{AtomicUsize, Ordering::Relaxed};

/// Returns ranks that may have up to `lanes` lanes.
fn ranks(size: u32, lanes: u32) -> testing::Ranks {
    testing::Ranks::new(size).variable("CANELE_LANES", lanes.to_string())
}

/// Runs one thread on its flow: messages of several lengths around a ring, and collectives of all members.
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
        let flows = (0..6).map(|lane| job.world().duplicate_on_lane(lane)).collect::<Result<_, _>>()?;
        in_threads(job, flows)
    });
}

#[test]
fn flows_that_are_made_of_flows_of_lanes_work_too() {
    ranks(2, 3).run(|job| {
        for _ in 0..20 {
            let first = job.world().duplicate_on_lane(1)?;
            let second = first.duplicate()?;
            let third = second.duplicate_on_lane(2)?;
            in_threads(job, vec![third, second, first])?;
        }
        Ok(())
    });
}

#[test]
fn a_lane_whose_threads_compute_has_messages_all_the_same() {
    ranks(2, 2).run(|job| {
        let (world, other) = (job.world(), job.world().duplicate_on_lane(1)?);
        let peer = Rank(1 - job.rank().0);
        if job.rank().0 == 0 {
            // Too long to be sent eagerly: it waits for its receiver.
            let sent = other.isend(peer, Tag(1), vec![7_u8; 1 << 20])?;
            // Waits on the first lane alone, until the receiver has the message of the other one.
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

#[test]
fn who_asks_for_notices_makes_progress_on_all_lanes() {
    const LENGTH: usize = 4 << 20;
    ranks(2, 2).run(|job| {
        let (flow, endpoint) = (job.world().duplicate_on_lane(1)?, job.endpoint());
        if job.rank().0 == 0 {
            let region = endpoint.region(64)?;
            region.publish("told")?;
            // The receiver reports the message's arrival by a notice.
            let sent = flow.isend(Rank(1), Tag(1), vec![7_u8; LENGTH])?;
            while endpoint.try_notice()?.is_none() {}
            sent.wait()?;
        } else {
            let region = endpoint.find_region("told", Duration::from_secs(20))?;
            let (_, got) = flow.irecv(Rank(0), Tag(1), vec![0_u8; LENGTH])?.wait()?;
            assert!(got.iter().all(|byte| *byte == 7));
            region.put_notify(0, &[1_u8], 7)?;
        }
        Ok(())
    });
}

#[test]
fn counters_are_those_of_all_lanes() {
    const MESSAGES: u64 = 100;
    ranks(2, 2).run(|job| {
        let (flow, peer) = (job.world().duplicate_on_lane(1)?, Rank(1 - job.rank().0));
        flow.barrier()?;
        let before = job.endpoint().counters()?;
        for number in 0..MESSAGES {
            flow.send(peer, Tag(0), &[number])?;
            let mut got = [0];
            flow.recv(peer, Tag(0), &mut got)?;
            assert_eq!(got, [number]);
        }
        let since = job.endpoint().counters()?.since(&before);
        let sent = since.iter().find(|(row, _)| row.name == "short_sent").map(|(_, count)| count);
        assert_eq!(sent, Some(MESSAGES));
        Ok(())
    });
}

#[test]
fn a_strategy_is_that_of_all_lanes_also_of_later_ones() {
    ranks(2, 3).run(|job| {
        let made = [(); 2].map(|()| Arc::new(AtomicUsize::new(0)));
        let counts = || [0, 1].map(|which: usize| made[which].load(Relaxed));
        let make = |which: usize| {
            let count = made[which].clone();
            move || {
                count.fetch_add(1, Relaxed);
                strategy::named("fifo").expect("a built-in one")
            }
        };
        job.use_strategy(make(0))?;
        assert_eq!(counts(), [1, 0]);
        let second = job.world().duplicate_on_lane(1)?;
        assert_eq!(counts(), [2, 0], "for the second lane, which was opened");
        job.use_strategy(make(1))?;
        assert_eq!(counts(), [2, 2]);
        let third = job.world().duplicate_on_lane(2)?;
        assert_eq!(counts(), [2, 3]);
        exchange(&second, 1)?;
        exchange(&third, 2)?;
        Ok(())
    });
}

/// Numbers from a seed, equal on all ranks (splitmix64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    fn length(&mut self) -> usize {
        [1, 6, 7, 100, 2000, 30_000, 150_000][self.below(7) as usize] + self.below(3) as usize
    }
}

/// Returns the value of a rank's items in a step.
fn word(step: u64, rank: u32) -> u64 {
    step << 8 | u64::from(rank)
}

/// Runs one step of a random program on a flow; all ranks of the flow take it.
fn step(flow: &Flow, number: u64, numbers: &mut Numbers) -> Result<(), canele::Error> {
    let (me, size, tag) = (flow.rank().0, flow.size(), Tag(number as u32));
    let (kind, length, root) =
        (numbers.below(6), numbers.length(), Rank(numbers.below(u64::from(size)) as u32));
    match kind {
        0 => {
            let distance = root.0.max(1);
            let (to, from) = (Rank((me + distance) % size), Rank((me + size - distance % size) % size));
            let sent = flow.isend(to, tag, vec![word(number, me); length])?;
            let (_, got) = flow.irecv(from, ANY_TAG, vec![0; length])?.wait()?;
            assert!(got.iter().all(|item| *item == word(number, from.0)), "step {number}");
            sent.wait()?;
        }
        1 => {
            let mut items = vec![if me == root.0 { word(number, me) } else { 0 }; length];
            flow.broadcast(root, &mut items)?;
            assert!(items.iter().all(|item| *item == word(number, root.0)), "step {number}");
        }
        2 => {
            let mut sums = vec![0; length];
            flow.allreduce(&vec![word(number, me); length], &mut sums, Op::Sum)?;
            let sum = (0..size).map(|rank| word(number, rank)).sum::<u64>();
            assert!(sums.iter().all(|item| *item == sum), "step {number}");
        }
        3 if me == root.0 => {
            let mut from_all = vec![false; size as usize];
            for _ in 1..size {
                let (status, got) = flow.irecv(ANY_SOURCE, tag, vec![0; length])?.wait()?;
                assert!(got.iter().all(|item| *item == word(number, status.source.0)), "step {number}");
                assert!(!std::mem::replace(&mut from_all[status.source.0 as usize], true));
            }
        }
        3 => flow.send(root, tag, &vec![word(number, me); length])?,
        4 => {
            let child = flow.duplicate_on_lane(root.0)?;
            let mut all = vec![0; size as usize];
            child.allgather(&[word(number, me)], &mut all)?;
            assert!((0..size).zip(&all).all(|(rank, item)| *item == word(number, rank)), "step {number}");
        }
        _ => flow.barrier()?,
    }
    Ok(())
}

/// Runs threads that take the steps of their flows; the order is equal on all ranks.
fn random_program(job: &Job, seed: u64) -> testing::RankResult {
    let mut numbers = Numbers(seed);
    let (threads, flows) = (1 + numbers.below(3), 1 + numbers.below(3) as usize);
    let make = |thread: u64| {
        let lanes = (0..flows as u32).map(|number| thread as u32 + number);
        lanes.map(|lane| job.world().duplicate_on_lane(lane)).collect::<Result<Vec<_>, _>>()
    };
    let all = (0..threads).map(make).collect::<Result<Vec<_>, _>>()?;
    let run = |(thread, flows): (u64, &Vec<Flow>)| {
        let mut numbers = Numbers(seed << 8 | thread);
        (0..40).try_for_each(|number| {
            let flow = &flows[numbers.below(flows.len() as u64) as usize];
            step(flow, number, &mut numbers)
        })
    };
    let run = &run;
    thread::scope(|scope| {
        let started: Vec<_> = (0..).zip(&all).map(|one| scope.spawn(move || run(one))).collect();
        started.into_iter().try_for_each(|thread| thread.join().expect("a thread of the test"))
    })?;
    Ok(())
}

/// `LANES_SEEDS` is the number of programs, `LANES_SEED` the first seed.
#[test]
fn random_programs_of_threads_and_flows_give_what_is_expected() {
    let from = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let (first, count) = (from("LANES_SEED").unwrap_or(1), from("LANES_SEEDS").unwrap_or(12));
    for (size, lanes) in [(2, 2), (3, 4)] {
        let limit = Duration::from_secs(60 + 2 * count);
        ranks(size, lanes).time_limit(limit).run(|job| {
            (first..first + count).try_for_each(|seed| {
                random_program(job, seed).map_err(|error| format!("LANES_SEED={seed}: {error}").into())
            })
        });
    }
}
