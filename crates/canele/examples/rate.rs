//! Measures the rate of 8-byte messages from rank 0 to rank 1: windows of 64 sends, then one reply. Run:
//! `canele run -n 2 --bind core rate`.

use std::time::Instant;

use canele::{Error, Job, Rank, Tag};

const WINDOW: u64 = 64;
const WINDOWS: u64 = 200_000;

fn main() -> Result<(), Error> {
    let job = Job::start()?;
    let world = job.world();
    let (me, other) = (job.rank().0, Rank(1 - job.rank().0));
    let (out, mut back) = ([7u64], [0u64]);
    for _ in 0..5 {
        let start = Instant::now();
        for _ in 0..WINDOWS {
            if me == 0 {
                for _ in 0..WINDOW {
                    world.send(other, Tag(1), &out)?;
                }
                world.recv(other, Tag(2), &mut back)?;
            } else {
                for _ in 0..WINDOW {
                    world.recv(other, Tag(1), &mut back)?;
                }
                world.send(other, Tag(2), &out)?;
            }
        }
        if me == 0 {
            println!("{:.1} M/s", (WINDOW * WINDOWS) as f64 / start.elapsed().as_secs_f64() / 1e6);
        }
    }
    job.finish()
}
