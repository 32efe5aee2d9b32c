//! Wrong calls of two ranks: each returns an error that names the mistake, and has no other effect.

use canele::{ANY_SOURCE, Error, Failure, Flow, Job, Rank, Tag};

use crate::Outcome;

const SMALL: Tag = Tag(1);
const AFTER: Tag = Tag(2);
const DROPPED: Tag = Tag(3);
/// Lengths of a short, an eager and a streamed message.
const LENGTHS: [usize; 3] = [40, 10_000, 500_000];

/// Runs both ranks.
pub fn run() -> Outcome {
    let job = Job::start()?;
    let (world, other) = (job.world(), Rank(1 - job.rank().0));
    ranks_out_of_range(&world)?;
    small_buffers(&world, other)?;
    dropped_requests(&world, other)?;
    job.finish()?;
    after_the_end(&world, other)?;
    println!("all refused");
    Ok(())
}

fn expect<T>(what: &str, result: Result<T, Error>, words: &[&str]) -> Outcome {
    let Err(error) = result else { return Err(format!("{what} succeeded").into()) };
    let text = error.to_string();
    match words.iter().find(|word| !text.contains(**word)) {
        None => Ok(()),
        Some(word) => Err(format!("{what}: {text:?} does not say {word:?}").into()),
    }
}

fn ranks_out_of_range(world: &Flow) -> Outcome {
    for number in [world.size(), u32::MAX] {
        let (rank, name) = (Rank(number), number.to_string());
        let words = [name.as_str(), "2 ranks"];
        expect("send", world.send(rank, SMALL, &[1u8]), &words)?;
        expect("long send", world.send(rank, SMALL, &vec![1u8; 1 << 20]), &words)?;
        expect("send_sync", world.send_sync(rank, SMALL, &[1u8]), &words)?;
        expect("send_with", world.send_with(rank, SMALL, 8, |mut slot| slot.write(0, &[1u64])), &words)?;
        expect("isend", world.isend(rank, SMALL, vec![1u8]), &words)?;
        expect("recv", world.recv(rank, SMALL, &mut [1u8]), &words)?;
        expect("irecv", world.irecv(rank, SMALL, vec![1u8]), &words)?;
        expect("probe", world.probe(rank, SMALL), &words)?;
        expect("mprobe", world.mprobe(rank, SMALL), &words)?;
        expect("iprobe", world.iprobe(rank, SMALL), &words)?;
    }
    Ok(())
}

/// Checks that a message longer than its buffer is an error that names both lengths. Buffer and later
/// messages are unchanged.
fn small_buffers(world: &Flow, other: Rank) -> Outcome {
    for bytes in LENGTHS {
        for any in [false, true] {
            let message = vec![7u8; bytes];
            let late = world.isend(other, SMALL, message.clone())?;
            world.send(other, AFTER, &[bytes as u64])?;
            let mut buffer = vec![9u8; bytes - 1];
            let received = match any {
                true => world.recv(ANY_SOURCE, SMALL, &mut buffer),
                false => world.recv(other, SMALL, &mut buffer),
            };
            let (long, short) = (bytes.to_string(), (bytes - 1).to_string());
            let truncated = matches!(received, Err(Error::Failed(Failure::Truncated { .. })));
            expect("a receive into a small buffer", received, &[&long, &short, &other.to_string()])?;
            if !truncated || buffer.iter().any(|byte| *byte != 9) {
                return Err(format!("{bytes} bytes: the buffer was written to").into());
            }
            late.wait()?;
            let mut after = [0u64];
            world.recv(other, AFTER, &mut after)?;
            if after != [bytes as u64] {
                return Err(format!("the message after the long one is {after:?}").into());
            }
        }
    }
    Ok(())
}

/// Checks requests that are dropped while pending: receives are withdrawn, sends are not lost, and later
/// messages are exact.
fn dropped_requests(world: &Flow, other: Rank) -> Outcome {
    for bytes in LENGTHS {
        // There is nothing to receive before the other side sends.
        drop(world.irecv(other, DROPPED, vec![0u8; bytes])?);
        world.send(other, AFTER, &[0u8])?;
        world.recv(other, AFTER, &mut [0u8])?;
        let receive = world.irecv(other, DROPPED, vec![0u8; bytes])?;
        // Dropping waits, if necessary, for the other side's receive, which is posted.
        drop(world.isend(other, DROPPED, vec![5u8; bytes])?);
        let (status, got) = receive.wait()?;
        if status.bytes != bytes || got.iter().any(|byte| *byte != 5) {
            return Err(format!("{status:?} after a dropped receive of {bytes} bytes").into());
        }
    }
    Ok(())
}

fn after_the_end(world: &Flow, other: Rank) -> Outcome {
    let words = ["finished"];
    expect("send", world.send(other, SMALL, &[1u8]), &words)?;
    expect("long send", world.send(other, SMALL, &vec![1u8; 1 << 20]), &words)?;
    expect("send_with", world.send_with(other, SMALL, 8, |mut slot| slot.write(0, &[1u64])), &words)?;
    expect("isend", world.isend(other, SMALL, vec![1u8]), &words)?;
    expect("recv", world.recv(other, SMALL, &mut [1u8]), &words)?;
    expect("recv from any rank", world.recv(ANY_SOURCE, SMALL, &mut [1u8]), &words)?;
    expect("irecv", world.irecv(other, SMALL, vec![1u8]), &words)?;
    expect("probe", world.probe(other, SMALL), &words)?;
    expect("iprobe", world.iprobe(other, SMALL), &words)?;
    Ok(())
}
