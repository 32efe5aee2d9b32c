//! The last rank dies during its messages to rank 0, which receives from any rank.
//!
//! Rank 0 gets one report and loses no message of the others. Every operation that names the dead rank fails,
//! naming it.

use std::time::Duration;

use canele::{ANY_SOURCE, ANY_TAG, Error, Failure, Flow, Job, Rank, Tag};
use rustix::process::{Signal, getpid, kill_process};

use crate::{Outcome, pattern};

const GO_ON: Tag = Tag(9);
const DATA: Tag = Tag(1);
/// A timeout that only a hang exceeds.
const LONG: Duration = Duration::from_secs(60);
/// Bytes of the longest message.
const ROOM: usize = 300_000;

/// Sends `count` messages from every living rank to rank 0, then as many again.
pub fn run(count: u64) -> Outcome {
    let job = Job::start()?;
    let (me, world, dead) = (job.rank(), job.world(), Rank(job.size() - 1));
    if me == dead {
        send_some(&world, me, 0..count / 2)?;
        kill_process(getpid(), Signal::KILL)?;
    }
    if me != Rank(0) {
        send_some(&world, me, 0..count)?;
        world.recv(Rank(0), GO_ON, &mut [0u8])?;
        send_some(&world, me, count..2 * count)?;
        job.finish()?;
        return Ok(());
    }
    let mut next = vec![0; job.size() as usize];
    let senders = 1..job.size() as usize - 1;
    let mut told = 0;
    while told == 0 || next[senders.clone()].iter().any(|n| *n < count) {
        told += u32::from(!receive(&world, &mut next, dead)?);
    }
    names_the_dead(&world, dead)?;
    for rank in senders.clone() {
        world.send(Rank(rank as u32), GO_ON, &[0u8])?;
    }
    while next[senders.clone()].iter().any(|n| *n < 2 * count) {
        told += u32::from(!receive(&world, &mut next, dead)?);
    }
    if told != 1 {
        return Err(format!("receives from any rank were told of one death {told} times").into());
    }
    println!("{} messages from the living", next[senders].iter().sum::<u64>());
    job.finish()?;
    Ok(())
}

fn send_some(world: &Flow, me: Rank, numbers: std::ops::Range<u64>) -> Outcome {
    for number in numbers {
        world.send(Rank(0), DATA, &pattern::message(me, Rank(0), number, 0))?;
    }
    Ok(())
}

/// Receives from any rank; returns false for a report of the death.
fn receive(world: &Flow, next: &mut [u64], dead: Rank) -> Result<bool, Box<dyn std::error::Error>> {
    let mut bytes = vec![0; ROOM];
    match world.recv_deadline(ANY_SOURCE, DATA, &mut bytes, LONG) {
        Ok(status) => {
            let number = &mut next[status.source.0 as usize];
            pattern::check(status.source, Rank(0), *number, &bytes[..status.bytes])?;
            *number += 1;
            Ok(true)
        }
        Err(Error::Failed(Failure::PeerFailed(rank))) if rank == dead => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn names_the_dead(world: &Flow, dead: Rank) -> Outcome {
    // Messages that it sent before it died can still be received.
    while let Some(status) = world.iprobe(dead, ANY_TAG)? {
        // A long message may be incomplete: that receive fails too.
        match world.recv(dead, status.tag, &mut vec![0u8; status.bytes]) {
            Ok(_) | Err(Error::Failed(Failure::PeerFailed(_))) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let attempts = [
        ("send", world.send(dead, DATA, &[1u8]).err()),
        ("long send", world.send(dead, DATA, &vec![1u8; 1 << 20]).err()),
        ("send_sync", world.send_sync(dead, DATA, &[1u8]).err()),
        ("send_with", world.send_with(dead, DATA, 8, |mut slot| slot.write(0, &[1u64])).err()),
        ("isend", world.isend(dead, DATA, vec![1u8]).and_then(|request| request.wait()).err()),
        ("recv", world.recv(dead, DATA, &mut [1u8]).err()),
        ("recv of any tag", world.recv(dead, ANY_TAG, &mut [1u8]).err()),
        ("irecv", world.irecv(dead, DATA, vec![1u8]).and_then(|request| request.wait()).err()),
        ("probe", world.probe(dead, DATA).err()),
        ("mprobe", world.mprobe(dead, DATA).err()),
    ];
    for (what, error) in attempts {
        let Some(error) = error else { return Err(format!("{what} with the dead rank succeeded").into()) };
        if !error.to_string().contains(&dead.to_string()) {
            return Err(format!("{what}: {error} does not name {dead}").into());
        }
    }
    Ok(())
}
