//! Ranks that hang, each job in another way, until the test ends it or gives up.

use std::time::{Duration, Instant};

use canele::{Flow, Job, Rank, Tag};

use crate::Outcome;

/// A time after which the test has long ended.
const LONG: Duration = Duration::from_secs(120);

/// Hangs in the way named by `how`.
pub fn run(how: &str) -> Outcome {
    let job = Job::start()?;
    let world = job.world();
    let (me, last) = (job.rank().0, job.size() - 1);
    match how {
        // Each rank waits for the next one, the last for the first.
        "cycle" => receive(&world, if me == last { 0 } else { me + 1 }, 7)?,
        // The message for rank 1 has another tag than its receive.
        "tag" if me == 0 => {
            world.send(Rank(1), Tag(8), &[1u64])?;
            receive(&world, 1, 9)?;
        }
        "tag" => receive(&world, 0, 7)?,
        // All but the last rank call a barrier; that one computes.
        "absent" if me == last => compute(),
        "absent" => world.barrier()?,
        // Rank 0 polls, the others wait for it.
        "poll" if me == 0 => {
            let start = Instant::now();
            while start.elapsed() < LONG {
                world.iprobe(Rank(last), Tag(1))?;
            }
        }
        "poll" => receive(&world, 0, 7)?,
        other => return Err(format!("how is {other:?}?").into()),
    }
    Ok(())
}

fn receive(world: &Flow, from: u32, tag: u32) -> Outcome {
    world.recv(Rank(from), Tag(tag), &mut [0u64])?;
    Ok(())
}

#[inline(never)]
fn compute() {
    let start = Instant::now();
    let mut sum = 0_u64;
    while start.elapsed() < LONG {
        // Most of the time is spent here, not in reading the clock.
        for number in 0..1_000_000 {
            sum = std::hint::black_box(sum.wrapping_add(number));
        }
    }
}
