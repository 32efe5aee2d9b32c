//! Ranks 0 and 1 play ping-pong; rank 0 prints the one-way times. Run: `canele run -n 2 --bind core pingpong`.

use std::time::Instant;

use canele::{Error, Job, Rank, Tag};

fn main() -> Result<(), Error> {
    let job = Job::start()?;
    let world = job.world();
    let other = Rank(1 - job.rank().0);
    for bytes in [0, 8, 48, 64, 1024, 4096, 16384, 65536, 262_144, 1 << 20, 4 << 20] {
        let rounds = (1usize << 28).checked_div(bytes).unwrap_or(200_000).clamp(64, 200_000);
        let mut buffer = vec![1u8; bytes];
        let mut times = Vec::new();
        for _ in 0..9 {
            let start = Instant::now();
            for _ in 0..rounds {
                if job.rank().0 == 0 {
                    world.send(other, Tag(1), &buffer)?;
                    world.recv(other, Tag(1), &mut buffer)?;
                } else {
                    world.recv(other, Tag(1), &mut buffer)?;
                    world.send(other, Tag(1), &buffer)?;
                }
            }
            times.push(start.elapsed().as_nanos() as f64 / rounds as f64 / 2.0);
        }
        times.sort_by(f64::total_cmp);
        if job.rank().0 == 0 {
            println!("{bytes:8} B {:10.1} ns {:8.2} GB/s", times[4], bytes as f64 / times[4]);
        }
    }
    job.finish()
}
