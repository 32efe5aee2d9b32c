//! Sends messages beyond the credit before their receives are posted, and prints their times.
//!
//! `canele run -n 2 flood 300000`. Rank 0 starts as many sends of 8 bytes; when rank 1 is told that, it
//! receives them all. Rank 1 prints the number of messages and the microseconds to receive one.
#![forbid(unsafe_code)]

use std::time::Instant;

use canele::{Error, Job, Rank, Tag, wait_all};

const DATA: Tag = Tag(1);
const STARTED: Tag = Tag(2);

fn main() -> Result<(), Error> {
    let count: u64 = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(300_000);
    let job = Job::start()?;
    let world = job.world();
    match job.rank().0 {
        0 => {
            let sends: Result<Vec<_>, Error> =
                (0..count).map(|number| world.isend(Rank(1), DATA, vec![number])).collect();
            world.send(Rank(1), STARTED, &[0_u64])?;
            wait_all(sends?)?;
        }
        1 => {
            world.recv(Rank(0), STARTED, &mut [0_u64])?;
            let since = Instant::now();
            for expected in 0..count {
                let mut number = [u64::MAX];
                world.recv(Rank(0), DATA, &mut number)?;
                assert_eq!(number, [expected]);
            }
            println!("{count} messages, {:.2} µs each", since.elapsed().as_secs_f64() * 1e6 / count as f64);
        }
        _ => {}
    }
    job.finish()
}
