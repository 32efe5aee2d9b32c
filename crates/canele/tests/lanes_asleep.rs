//! Ranks with several lanes whose threads sleep as soon as they wait.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use canele::{Flow, Job, Rank, Tag, testing, wait_any};
use canele_sys::atomic::AtomicU32;
use canele_sys::futex;

const ROUNDS: u32 = 60;

/// The hosts of two ranks: on one host ranks sleep on words, on two hosts on descriptors.
#[derive(Clone, Copy, PartialEq, Debug)]
enum HostsOfRanks {
    OneHost,
    TwoHosts,
}
const BOTH: [HostsOfRanks; 2] = [HostsOfRanks::OneHost, HostsOfRanks::TwoHosts];

/// Returns two ranks that may have up to `lanes` lanes and sleep as soon as they wait.
fn sleepers(place: HostsOfRanks, lanes: u32) -> testing::Ranks {
    let ranks = testing::Ranks::new(2).variable("CANELE_LANES", lanes.to_string());
    let ranks = ranks.variable("CANELE_WAIT", "sleep");
    // The shell starts both hosts on this machine.
    let shell = format!("bash {}/../cli/tests/support/shell plain", env!("CARGO_MANIFEST_DIR"));
    match place {
        HostsOfRanks::OneHost => ranks,
        HostsOfRanks::TwoHosts => ranks.option("--hosts").option("h0:1,h1:1").option("--rsh").option(shell),
    }
}

fn flows(job: &Job, count: usize) -> Result<Vec<Flow>, canele::Error> {
    (1..=count as u32).map(|lane| job.world().duplicate_on_lane(lane)).collect()
}

/// Computes for up to about three milliseconds, a different time for each thread and round.
fn compute(thread: u32, round: u32) {
    let mixed = (thread * 7919 + round * 104_729).wrapping_mul(0x9e37_79b9) >> 24;
    if mixed > 128 {
        thread::sleep(Duration::from_micros(u64::from(mixed - 128) * 25));
    }
}

/// Sends messages of a thread on its own flow, and long ones on the flow that its neighbours use too. A long
/// message moves only while both ends make progress.
fn exchange(flows: &[Flow], thread: u32) -> Result<(), canele::Error> {
    let (own, other) = (&flows[thread as usize], &flows[(thread as usize + 1) % flows.len()]);
    let peer = Rank(1 - own.rank().0);
    for round in 0..ROUNDS {
        let length = [1, 60, 3000, 150_000][((round + thread) % 4) as usize];
        let tag = Tag(thread * ROUNDS + round);
        let sends = [own, other].map(|flow| flow.isend(peer, tag, vec![thread + round; length]));
        compute(thread, round + own.rank().0);
        let receives = [other, own].map(|flow| flow.irecv(peer, tag, vec![0_u32; length]));
        let [first, second] = receives;
        let mut receives = vec![first?, second?];
        while !receives.is_empty() {
            let at = wait_any(&mut receives)?;
            let (_, got) = receives.swap_remove(at).wait()?;
            assert!(got.iter().all(|word| *word == thread + round), "thread {thread}, round {round}");
        }
        for send in sends {
            send?.wait()?;
        }
        let mut got = [0];
        own.isend(peer, Tag(9999), vec![round])?.wait()?;
        own.recv(peer, Tag(9999), &mut got)?;
        assert_eq!(got, [round]);
    }
    Ok(())
}

#[test]
fn threads_that_sleep_on_their_lanes_and_on_others_are_woken() {
    let cases = BOTH
        .into_iter()
        .flat_map(|place| [(1, 3), (2, 2), (4, 3), (5, 5)].into_iter().map(move |case| (place, case)));
    for (place, (threads, lanes)) in cases {
        sleepers(place, lanes).run(|job| {
            let flows = flows(job, threads)?;
            let flows = &flows;
            thread::scope(|scope| {
                let all: Vec<_> =
                    (0..threads as u32).map(|number| scope.spawn(move || exchange(flows, number))).collect();
                all.into_iter().try_for_each(|one| one.join().expect("a thread of the test"))
            })?;
            job.world().barrier()?;
            Ok(())
        });
    }
}

/// Counts the sleeps of a rank with so many open lanes while it waits half a second for a message on the
/// first lane.
fn sleeps_in_half_a_second(place: HostsOfRanks, lanes: u32) {
    sleepers(place, lanes).run(move |job| {
        let flows = flows(job, lanes as usize)?;
        flows.iter().try_for_each(Flow::barrier)?;
        let (flow, peer) = (&flows[0], Rank(1 - job.rank().0));
        if job.rank().0 == 0 {
            thread::sleep(Duration::from_millis(500));
            return flow.send(peer, Tag(0), &[1_u8]).map_err(Into::into);
        }
        let before = job.endpoint().counters()?;
        flow.recv(peer, Tag(0), &mut [0_u8])?;
        let since = job.endpoint().counters()?.since(&before);
        let sleeps = since.iter().find(|(row, _)| row.name == "sleeps").map(|(_, count)| count);
        assert!(sleeps.is_some_and(|sleeps| sleeps < 20), "{place:?}, {lanes} lanes: {sleeps:?} sleeps");
        Ok(())
    });
}

/// Needs a system that can sleep on several words or descriptors: a waiting rank wakes for a message, with
/// one lane or many.
#[test]
fn a_rank_that_waits_sleeps_for_good_with_several_lanes_too() {
    let word = AtomicU32::new(0);
    let takes_several = futex::wait_on_any(&[(&word, 0)], Some(Duration::ZERO)).is_some();
    for place in BOTH.into_iter().filter(|place| takes_several || *place == HostsOfRanks::TwoHosts) {
        [1, 2, 5, 16].into_iter().for_each(|lanes| sleeps_in_half_a_second(place, lanes));
    }
}

/// Rank 0 sends a long message on the flow `long`, which moves only while a thread of rank 1 makes progress.
/// One thread of rank 1 waits on `first` until every thread sleeps, and computes afterwards. The other one
/// waits on `second` until the long message has arrived. They begin to wait `begins` milliseconds after the
/// start of each round.
fn move_while_one_thread_computes(
    [first, second, long]: [&Flow; 3],
    begins: [u64; 2],
) -> testing::RankResult {
    let peer = Rank(1 - first.rank().0);
    for round in 0..WATCHED_ROUNDS {
        if first.rank().0 == 0 {
            thread::sleep(Duration::from_millis(20));
            first.send(peer, Tag(1), &[round])?;
            thread::sleep(Duration::from_millis(5));
            // Too long to be sent eagerly: it waits for its receiver.
            long.isend(peer, Tag(2), vec![round; 1 << 20])?.wait()?;
            second.send(peer, Tag(3), &[round])?;
            continue;
        }
        let (is_over, computes) = mpsc::channel::<()>();
        thread::scope(|scope| {
            let other = scope.spawn(move || {
                let request = long.irecv(peer, Tag(2), vec![0_u8; 1 << 20])?;
                thread::sleep(Duration::from_millis(begins[0]));
                first.recv(peer, Tag(1), &mut [0_u8])?;
                let _ = computes.recv();
                request.wait()
            });
            thread::sleep(Duration::from_millis(begins[1]));
            let mut got = [0];
            second.recv_deadline(peer, Tag(3), &mut got, Duration::from_secs(20))?;
            drop(is_over);
            let (_, message) = other.join().expect("a thread of the test")?;
            assert!(got == [round] && message.iter().all(|byte| *byte == round));
            Ok::<_, canele::Error>(())
        })?;
    }
    Ok(())
}

/// Enough rounds to exceed the limit if each sleep lasted until the rank's check of the launcher, once a
/// second.
const WATCHED_ROUNDS: u8 = 50;
const LIMIT: Duration = Duration::from_secs(40);

#[test]
fn a_lane_is_watched_whose_thread_has_slept_and_computes() {
    for place in BOTH {
        sleepers(place, 2).time_limit(LIMIT).run(|job| {
            let flow = job.world().duplicate_on_lane(1)?;
            move_while_one_thread_computes([&flow, &job.world(), &flow], [5, 0])
        });
    }
}

#[test]
fn another_thread_watches_once_the_one_that_did_computes() {
    for place in BOTH {
        sleepers(place, 4).time_limit(LIMIT).run(|job| {
            let flows = flows(job, 3)?;
            move_while_one_thread_computes([&flows[0], &flows[1], &flows[2]], [0, 5])
        });
    }
}
