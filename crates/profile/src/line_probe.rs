//! Measures the time of a cache line between two processors, for machines whose description of the caches is
//! not reliable.
//!
//! Two threads on the two processors write a line each in turn, like the packets of two ranks. Other users of
//! a processor delay some turns. So the result is the fastest of several blocks in several tries; one
//! undisturbed block is enough.

use std::time::{Duration, Instant};

use canele_sys::affinity::ProcessorSet;
use canele_sys::atomic::{AtomicU32, Ordering};

/// The number of tries. Each starts its own threads, because a processor that was busy in one try may be free
/// in the next.
const TRIES: u32 = 3;
/// The number of blocks in a try, of which the fastest is the result.
const BLOCKS: u32 = 8;
/// The number of round trips of the line in each block.
const ROUND_TRIPS: u32 = 32;
/// The longest time of a try. On a busy machine the two processors are rarely free at the same time.
const AT_MOST: Duration = Duration::from_millis(20);
/// The number of looks at the line for each look at the clock.
const LOOKS: u32 = 256;

/// The longest time of a line between two processors of one machine, in nanoseconds: several times that
/// between sockets. A longer time was measured in an emulator, or on a machine that was busy in every block.
const LONGEST_NS: u32 = 2000;

/// A line that is alone among its neighbours, because processors fetch lines in pairs.
#[derive(Default)]
#[repr(align(128))]
struct Line(AtomicU32);

/// Returns the time of a line between the first two processors that this thread may use, in nanoseconds. None
/// if it may use only one, or if they were not free.
pub(crate) fn line_ns() -> Option<u32> {
    match ProcessorSet::of_thread().ok()?.processors()[..] {
        [one, other, ..] => {
            (0..TRIES).filter_map(|_| between([one, other])).min().filter(|ns| is_plausible(*ns))
        }
        _ => None,
    }
}

/// Returns true if a line between two processors of one machine can take so many nanoseconds.
pub(crate) fn is_plausible(ns: u32) -> bool {
    (1..=LONGEST_NS).contains(&ns)
}

fn between(processors: [u32; 2]) -> Option<u32> {
    let (lines, until) = ([Line::default(), Line::default()], Instant::now() + AT_MOST);
    std::thread::scope(|scope| {
        let on = |me: usize| {
            let (own, other) = (&lines[me].0, &lines[1 - me].0);
            let turns = move || {
                let bound = ProcessorSet::new(&[processors[me]]).bind_thread();
                bound.ok().and_then(|()| take_turns((own, other), me == 0, until))
            };
            std::thread::Builder::new().spawn_scoped(scope, turns).ok()
        };
        let [one, other] = [on(0), on(1)];
        let took = one?.join().ok()?;
        other?.join().ok()?;
        took
    })
}

/// Writes this thread's line first if `is_first`, or else each time the other line has changed. Returns the
/// time of a line in the fastest block.
fn take_turns((own, other): (&AtomicU32, &AtomicU32), is_first: bool, until: Instant) -> Option<u32> {
    let mut fastest = None;
    for block in 0..BLOCKS {
        let since = Instant::now();
        for turn in block * ROUND_TRIPS + 1..=(block + 1) * ROUND_TRIPS {
            if is_first {
                own.store(turn, Ordering::Relaxed);
            }
            if !wait_for(other, turn, until) {
                return fastest;
            }
            if !is_first {
                own.store(turn, Ordering::Relaxed);
            }
        }
        let took = u32::try_from(since.elapsed().as_nanos()).unwrap_or(u32::MAX) / (2 * ROUND_TRIPS);
        fastest = Some(fastest.map_or(took, |fastest: u32| fastest.min(took)).max(1));
    }
    fastest
}

/// Returns true if the line reaches the value `turn` before the time `until`.
fn wait_for(line: &AtomicU32, turn: u32, until: Instant) -> bool {
    loop {
        for _ in 0..LOOKS {
            if line.load(Ordering::Relaxed) == turn {
                return true;
            }
            std::hint::spin_loop();
        }
        if Instant::now() > until {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_takes_some_time_between_the_processors_that_there_are() {
        // On a busy machine, or with one processor, there may be no result.
        assert!(line_ns().is_none_or(is_plausible));
        let usable = ProcessorSet::of_thread().expect("the kernel tells").processors();
        let missing = usable.last().expect("this thread runs on one") + 4096;
        assert_eq!(between([usable[0], missing]), None, "no such processor");
    }

    #[test]
    fn the_fastest_of_the_blocks_that_were_done_counts() {
        let (own, other) = (AtomicU32::new(0), AtomicU32::new(2 * ROUND_TRIPS + 1));
        let soon = || Instant::now() + Duration::from_millis(1);
        assert_eq!(
            take_turns((&own, &other), true, soon()),
            None,
            "the other thread is not where it should be"
        );
        other.store(1, Ordering::Relaxed);
        assert_eq!(take_turns((&own, &other), false, soon()), None, "the other thread came once");
        assert_eq!(own.load(Ordering::Relaxed), 1);
    }
}
