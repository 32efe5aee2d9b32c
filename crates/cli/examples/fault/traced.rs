//! What a trace is to show: short and long messages, collectives, a sender that is late, and a rank that does not end by itself.

use std::time::Duration;

use canele::{Job, Op, Rank, Tag};

use crate::Outcome;

/// How late rank 1 sends.
const LATE: Duration = Duration::from_millis(200);
/// The test has long ended by then.
const LONG: Duration = Duration::from_secs(120);
/// Bytes of a long message.
const LENGTH: usize = 1 << 20;

/// Exchanges messages around; then, if the last rank is to be killed, waits for it.
pub fn run(how: &str) -> Outcome {
    let job = Job::start()?;
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
