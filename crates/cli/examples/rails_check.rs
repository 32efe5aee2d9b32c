//! Sends messages of many sizes between ranks 0 and 1 for some seconds, and checks every byte and the order.
//! Meanwhile rails may be cut and restored: `canele run --hosts h0:1,h1:1 rails_check SECONDS`. Prints the
//! moved data and the longest pause.

use std::time::{Duration, Instant};

use canele::{Job, Rank, Tag};

const SIZES: [usize; 9] = [8, 0, 48, 1000, 16 << 10, 100_000, 1 << 20, 300, 4 << 20];
/// Number of messages under way at a time.
const WINDOW: usize = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seconds: f64 = std::env::args().nth(1).map_or(Ok(2.0), |text| text.parse())?;
    let job = Job::start()?;
    let (world, me, other) = (job.world(), job.rank(), Rank(1 - job.rank().0));
    let (start, mut last, mut pause) = (Instant::now(), Instant::now(), Duration::ZERO);
    let (mut bytes, mut rounds) = (0, 0u64);
    let mut goes_on = [1u8];
    while goes_on == [1] {
        let number = |n: usize| rounds as usize * WINDOW + n;
        let out: Vec<Vec<u8>> = (0..WINDOW).map(|n| content(me, number(n))).collect();
        let mut got: Vec<Vec<u8>> = (0..WINDOW).map(|n| vec![0; size(number(n))]).collect();
        world.scope(|scope| {
            for got in &mut got {
                scope.irecv(other, Tag(1), got)?;
            }
            for out in &out {
                scope.isend(other, Tag(1), out)?;
            }
            Ok(())
        })?;
        for (n, got) in got.iter().enumerate() {
            assert!(
                *got == content(other, number(n)),
                "message {} of {other} is not as it was sent",
                number(n)
            );
            bytes += got.len();
        }
        (pause, last) = (pause.max(last.elapsed()), Instant::now());
        rounds += 1;
        goes_on = [u8::from(start.elapsed().as_secs_f64() < seconds)];
        if me == Rank(0) {
            world.send(other, Tag(2), &goes_on)?;
        } else {
            world.recv(other, Tag(2), &mut goes_on)?;
        }
    }
    println!(
        "{me}: {} messages, {:.0} MB/s, longest pause {:.0} ms",
        rounds * WINDOW as u64,
        bytes as f64 / start.elapsed().as_secs_f64() / 1e6,
        pause.as_secs_f64() * 1e3
    );
    Ok(job.finish()?)
}

fn size(number: usize) -> usize {
    SIZES[number % SIZES.len()]
}

fn content(from: Rank, number: usize) -> Vec<u8> {
    let first = number.wrapping_mul(31) + from.0 as usize;
    (0..size(number)).map(|at| (first + at * 7) as u8).collect()
}
