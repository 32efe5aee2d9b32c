//! Floods: senders that are faster than their receiver, in one direction and in both.

use std::time::Duration;

use canele::{Error, Failure, Flow, Job, Rank, Tag};

use crate::Outcome;

const FLOOD: Tag = Tag(1);
const QUIET: Tag = Tag(2);
/// Time for which the receiver makes progress without receiving the flood.
const AWAY: Duration = Duration::from_secs(2);

/// Sends `count` short messages from all other ranks to rank 0 by blocking sends, as fast as possible. Rank 0
/// is inside the library, waits for another message, and prints the growth of its memory.
pub fn one_way(count: u64) -> Outcome {
    let job = Job::start()?;
    let world = job.world();
    if job.rank() != Rank(0) {
        for number in 0..count {
            world.send(Rank(0), FLOOD, &[number])?;
        }
        job.finish()?;
        return Ok(());
    }
    let before = most_resident_kib()?;
    match world.recv_deadline(Rank(1), QUIET, &mut [0u8], AWAY) {
        // A small flood may be over by then.
        Err(Error::Deadline(_) | Error::Failed(Failure::PeerFinished(_))) => {}
        other => return Err(format!("nothing was sent with that tag: {other:?}").into()),
    }
    let mut next = vec![0; job.size() as usize];
    for _ in 0..count * u64::from(job.size() - 1) {
        let mut number = [0u64];
        let from = world.recv(canele::ANY_SOURCE, FLOOD, &mut number)?.source;
        if number[0] != next[from.0 as usize] {
            return Err(
                format!("message {} of {from} instead of {}", number[0], next[from.0 as usize]).into()
            );
        }
        next[from.0 as usize] += 1;
    }
    println!("grew by {} KiB", most_resident_kib()?.saturating_sub(before));
    job.finish()?;
    Ok(())
}

/// Returns the most resident memory so far, in KiB.
fn most_resident_kib() -> Result<u64, Box<dyn std::error::Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse()?)
}

/// Sends windows of `window` messages between two ranks before either of them receives.
pub fn both_ways(window: u64) -> Outcome {
    const ROUNDS: u64 = 3;
    let job = Job::start()?;
    let (world, other) = (job.world(), Rank(1 - job.rank().0));
    for round in 0..ROUNDS {
        for bytes in [8, 1000, 16_000] {
            window_both_ways(&world, other, window, bytes, round)?;
        }
    }
    println!("exact");
    job.finish()?;
    Ok(())
}

fn window_both_ways(world: &Flow, other: Rank, window: u64, bytes: usize, round: u64) -> Outcome {
    let mut sends = Vec::new();
    for number in 0..window {
        sends.push(world.isend(other, FLOOD, vec![number << 8 | round; bytes / 8])?);
    }
    let mut words = vec![0u64; bytes / 8];
    for number in 0..window {
        world.recv(other, FLOOD, &mut words)?;
        if words.iter().any(|word| *word != number << 8 | round) {
            return Err(
                format!("message {number} of {bytes} bytes in round {round} is {:?}", words[0]).into()
            );
        }
    }
    canele::wait_all(sends)?;
    Ok(())
}
