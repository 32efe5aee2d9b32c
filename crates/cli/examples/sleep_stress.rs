//! Ranks that repeatedly fall asleep while others send to them: a lost wake-up stops the job.
//!
//! `canele run -n 3 --wait sleep sleep_stress SECONDS`. Every rank pauses for random times near those in
//! which the others announce their sleep. Sequence numbers are checked. Without progress for 10 s it prints
//! that and exits with 1.
#![forbid(unsafe_code)]

use std::sync::Arc;
use std::time::{Duration, Instant};

use canele::{ANY_SOURCE, Error, Job, Rank, Tag};
use canele_sys::atomic::{AtomicU64, Ordering};

const STUCK: Duration = Duration::from_secs(10);
const DATA: Tag = Tag(1);
/// The note on a sender's last message.
const LAST: u64 = 1 << 63;

/// Pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Pauses: mostly not or less than a µs, sometimes as long as falling asleep takes, rarely much longer.
    fn pause(&mut self) {
        let n = self.next();
        match n % 32 {
            0..16 => {}
            16..31 => (0..(n >> 8) % (1 << ((n >> 24) % 15))).for_each(|_| std::hint::spin_loop()),
            _ if n >> 32 & 15 == 0 => std::thread::sleep(Duration::from_micros(n >> 48 & 0x1ff)),
            _ => std::thread::yield_now(),
        }
    }
}

fn main() -> Result<(), Error> {
    let seconds = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(10);
    let job = Job::start()?;
    let (world, me, size) = (job.world(), job.rank(), job.size());
    let passed = Arc::new(AtomicU64::new(0));
    watch(me, passed.clone());
    let mut random = Random(0x9e37_79b9 + u64::from(me.0));
    let until = Instant::now() + Duration::from_secs(seconds);
    // In a ring each rank passes on its number, so at any time most ranks are about to sleep. Each also sends
    // to the previous one, which receives it from any rank: two senders race to wake one sleeper.
    let (next, previous) = (Rank((me.0 + 1) % size), Rank((me.0 + size - 1) % size));
    let mut received = [0u64; 2];
    let mut rounds = 0u64;
    let mut last = false;
    while !last {
        last = me.0 == 0 && Instant::now() >= until;
        let note = |n: u64, last: bool| if last { n | LAST } else { n };
        if me.0 == 0 {
            random.pause();
            world.send(next, DATA, &[note(rounds, last)])?;
        }
        let mut number = [0u64];
        world.recv(previous, DATA, &mut number)?;
        last |= number[0] & LAST != 0;
        check(me, number[0] & !LAST, &mut received[0]);
        if me.0 != 0 {
            random.pause();
            world.send(next, DATA, &[note(rounds, last)])?;
        }
        random.pause();
        world.send(previous, Tag(2), &[rounds])?;
        random.pause();
        world.recv(ANY_SOURCE, Tag(2), &mut number)?;
        check(me, number[0], &mut received[1]);
        rounds += 1;
        // Relaxed: only a change of the value matters.
        passed.store(rounds, Ordering::Relaxed);
    }
    if me.0 == 0 {
        let counters = job.endpoint().counters()?;
        let sleeps = counters.iter().find(|(row, _)| row.name == "sleeps").map_or(0, |(_, value)| value);
        println!("{rounds} rounds, rank 0 slept {sleeps} times");
    }
    job.finish()
}

fn check(me: Rank, number: u64, expected: &mut u64) {
    if number != *expected {
        eprintln!("{me}: message {number} instead of {expected}");
        std::process::exit(1);
    }
    *expected += 1;
}

fn watch(me: Rank, passed: Arc<AtomicU64>) {
    std::thread::spawn(move || {
        let mut seen = (0, Instant::now());
        loop {
            std::thread::sleep(Duration::from_millis(200));
            let now = passed.load(Ordering::Relaxed);
            if now != seen.0 {
                seen = (now, Instant::now());
            } else if seen.1.elapsed() > STUCK {
                eprintln!("{me}: no progress for {} s after {now} rounds", STUCK.as_secs());
                std::process::exit(1);
            }
        }
    });
}
