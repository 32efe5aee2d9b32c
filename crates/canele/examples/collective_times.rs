//! Measures times of short collectives. Run: `canele run -n 8 --bind core collective_times`.

use std::time::Instant;

use canele::{Error, Job, Op, Rank};

fn main() -> Result<(), Error> {
    let job = Job::start()?;
    let world = job.world();
    let bytes: usize = std::env::args().nth(1).and_then(|a| a.parse().ok()).unwrap_or(8);
    let ranks = job.size() as usize;
    let input = vec![1.0f64; bytes / 8 * ranks];
    let mut output = vec![0.0f64; bytes / 8 * ranks];
    let n = bytes / 8;
    let calls = (1_000_000 / (bytes * ranks + 1000)).clamp(2, 500);
    for name in ["barrier", "broadcast", "allreduce", "allgather", "alltoall"] {
        let mut times = Vec::new();
        for _ in 0..101 {
            world.barrier()?;
            let start = Instant::now();
            for _ in 0..calls {
                match name {
                    "barrier" => world.barrier()?,
                    "broadcast" => world.broadcast(Rank(0), &mut output[..n])?,
                    "allreduce" => world.allreduce(&input[..n], &mut output[..n], Op::Sum)?,
                    "allgather" => world.allgather(&input[..n], &mut output)?,
                    _ => world.alltoall(&input, &mut output)?,
                }
            }
            times.push(start.elapsed().as_nanos() as f64 / calls as f64);
        }
        times.sort_by(f64::total_cmp);
        if job.rank().0 == 0 {
            println!("{name:10} {bytes:8} B {:10.1} ns, least {:10.1}", times[50], times[0]);
        }
    }
    job.finish()
}
