//! Events for a trace: short and long messages, collectives, a late sender, and a rank that does not end by
//! itself.

use std::time::Duration;

use canele::{Flow, Job, Op, Rank, Tag, wait_any};

use crate::Outcome;

/// Delay of a late sender.
const LATE: Duration = Duration::from_millis(200);
/// A time after which the test has long ended.
const LONG: Duration = Duration::from_secs(120);
/// Bytes of a long message.
const LENGTH: usize = 1 << 20;

/// Sends messages around a ring on a flow.
fn exchange(flow: &Flow) -> Result<(), canele::Error> {
    let (me, size) = (flow.rank().0, flow.size());
    for round in 0..10u64 {
        let sent = flow.isend(Rank((me + 1) % size), Tag(500), vec![round; 1])?;
        flow.recv(Rank((me + size - 1) % size), Tag(500), &mut [0u64])?;
        sent.wait()?;
    }
    Ok(())
}

/// Exchanges messages in three threads, each on its own flow; then one waits for messages of all flows.
fn run_on_lanes(job: &Job) -> Result<(), canele::Error> {
    let flows = (1..4).map(|lane| job.world().duplicate_on_lane(lane)).collect::<Result<Vec<_>, _>>()?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = flows.iter().map(|flow| scope.spawn(|| exchange(flow))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("a thread of the test"))
    })?;
    let peer = Rank((job.rank().0 + 1) % job.size());
    let receive = |flow: &Flow| flow.irecv(peer, Tag(600), vec![0u64; 1]);
    let mut receives = flows.iter().map(receive).collect::<Result<Vec<_>, _>>()?;
    if job.rank().0 == 0 {
        std::thread::sleep(LATE);
    }
    flows.iter().try_for_each(|flow| flow.send(peer, Tag(600), &[1u64]))?;
    while !receives.is_empty() {
        let first = wait_any(&mut receives)?;
        receives.swap_remove(first).wait()?;
    }
    Ok(())
}

/// Exchanges messages around, or lets threads do so. If the last rank is to be killed, it then waits for it.
pub fn run(how: &str) -> Outcome {
    let job = Job::start()?;
    if how == "lanes" {
        run_on_lanes(&job)?;
        return Ok(job.finish()?);
    }
    let world = job.world();
    let (me, size) = (job.rank().0, job.size());
    let (next, before) = (Rank((me + 1) % size), Rank((me + size - 1) % size));
    world.barrier()?;
    for round in 0..10u64 {
        let sent = world.isend(next, Tag(1), vec![round; 1])?;
        let mut got = [0u64];
        world.recv(before, Tag(1), &mut got)?;
        sent.wait()?;
        if got != [round] {
            return Err(format!("round {round} got {got:?}").into());
        }
    }
    let long = world.isend(next, Tag(2), vec![me as u8; LENGTH])?;
    let mut got = vec![0u8; LENGTH];
    world.recv(before, Tag(2), &mut got)?;
    long.wait()?;
    let mut sum = [0u64];
    world.allreduce(&[u64::from(me)], &mut sum, Op::Sum)?;
    match me {
        1 => {
            std::thread::sleep(LATE);
            world.send(Rank(0), Tag(9), &[9u64])?;
        }
        0 => drop(world.recv(Rank(1), Tag(9), &mut [0u64])?),
        _ => {}
    }
    if how == "killed" {
        if me == size - 1 {
            println!("waits to be killed");
            std::thread::sleep(LONG);
        }
        world.recv(Rank(size - 1), Tag(10), &mut [0u64])?;
    }
    job.finish()?;
    Ok(())
}
