//! Ranks with known counters in typical states: they call the library from time to time, wait, compute, or
//! end.

use std::time::Duration;

use canele::{ANY_TAG, Job, Rank, Tag};

use crate::Outcome;

/// Runs four ranks. Rank 1 receives 5 messages of 8 bytes from rank 0, 3 from rank 2 and 2 from rank 3, and
/// waits for more. Rank 0 calls the library from time to time, without ever waiting; rank 2 never again; rank
/// 3 finishes.
pub fn run() -> Outcome {
    let job = Job::start()?;
    let (world, mut word) = (job.world(), [0u64]);
    let send = |count: u64| (0..count).try_for_each(|n| world.send(Rank(1), Tag(1), &[n]));
    match job.rank().0 {
        0 => {
            send(5)?;
            // Calls until the test ends it, or gives up.
            for _ in 0..60_000 {
                world.iprobe(Rank(1), ANY_TAG)?;
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        1 => {
            for (from, count) in [(0, 5), (2, 3), (3, 2), (0, 1)] {
                (0..count).try_for_each(|_| world.recv(Rank(from), Tag(1), &mut word).map(drop))?;
            }
        }
        2 => {
            send(3)?;
            std::thread::sleep(Duration::from_secs(60));
        }
        _ => {
            send(2)?;
            job.finish()?;
            std::thread::sleep(Duration::from_secs(60));
        }
    }
    Ok(())
}
