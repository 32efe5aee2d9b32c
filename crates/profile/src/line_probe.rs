//! Measures how long a cache line takes between two processors, for machines whose description of the caches cannot be believed.
//!
//! Two threads, one on each processor, change one line in turn. A processor that others use makes some turns late, so the fastest of several
//! blocks counts, and one block is enough.

use std::time::{Duration, Instant};

use canele_sys::affinity::ProcessorSet;
use canele_sys::atomic::{AtomicU32, Ordering};
use canele_sys::relax;

/// Blocks of which the fastest counts.
const BLOCKS: u32 = 8;
/// How often the line goes to and fro in each.
const ROUND_TRIPS: u32 = 32;
/// Both processors of a busy machine are rarely free at once. This is how long they are waited for.
const AT_MOST: Duration = Duration::from_millis(20);
/// Looks at the line between two looks at the clock.
const LOOKS: u32 = 256;

/// The line, alone among its neighbours: processors fetch lines in pairs.
#[repr(align(128))]
struct Line(AtomicU32);

/// Returns the time of a line between the first two processors that this thread may use, in nanoseconds; none if it may use one only, or if
/// they were not free.
pub(crate) fn line_ns() -> Option<u32> {
    match ProcessorSet::of_thread().ok()?.processors()[..] {
        [one, other, ..] => between([one, other]),
        _ => None,
    }
}

fn between(processors: [u32; 2]) -> Option<u32> {
    let (line, until) = (Line(AtomicU32::new(0)), Instant::now() + AT_MOST);
    std::thread::scope(|scope| {
        let on = |processor: u32, first: u32| {
            let line = &line.0;
            let turns = move || {
                ProcessorSet::new(&[processor])
                    .bind_thread()
                    .ok()
                    .and_then(|()| take_turns(line, first, until))
            };
            std::thread::Builder::new().spawn_scoped(scope, turns).ok()
        };
        let [one, other] = [on(processors[0], 0), on(processors[1], 1)];
        let took = one?.join().ok()?;
        other?.join().ok()?;
        took
    })
}

/// Changes the line whenever it is this thread's turn; returns the time of a line in the fastest block.
fn take_turns(line: &AtomicU32, first: u32, until: Instant) -> Option<u32> {
    let mut fastest = None;
    for block in 0..BLOCKS {
        let since = Instant::now();
        for round in 0..ROUND_TRIPS {
            let turn = 2 * (block * ROUND_TRIPS + round) + first;
            if !wait_for(line, turn, until) {
                return fastest;
            }
            line.store(turn + 1, Ordering::Relaxed);
        }
        let took = (since.elapsed().as_nanos() as u32 / (2 * ROUND_TRIPS)).max(1);
        fastest = Some(fastest.map_or(took, |fastest: u32| fastest.min(took)));
    }
    fastest
}

/// Says whether the line came to this turn in time.
fn wait_for(line: &AtomicU32, turn: u32, until: Instant) -> bool {
    loop {
        for _ in 0..LOOKS {
            if line.load(Ordering::Relaxed) == turn {
                return true;
            }
            relax::between_looks();
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
        // On a busy machine, or with one processor, there may be no answer.
        assert!(line_ns().is_none_or(|ns| (1..1_000_000).contains(&ns)));
        let usable = ProcessorSet::of_thread().expect("the kernel tells").processors();
        let missing = usable.last().expect("this thread runs on one") + 4096;
        assert_eq!(between([usable[0], missing]), None, "no such processor");
    }

    #[test]
    fn the_fastest_of_the_blocks_that_were_done_counts() {
        let line = AtomicU32::new(0);
        let soon = Instant::now() + Duration::from_millis(1);
        assert_eq!(take_turns(&line, 1, soon), None, "the other thread never came");
        assert_eq!(line.load(Ordering::Relaxed), 0);
    }
}
