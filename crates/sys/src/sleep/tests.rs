//! The asymmetric pair on real processors: the models know only full fences.

use crate::atomic::AtomicU64;
use std::thread;

use super::*;
use crate::membarrier;

const ROUNDS: u64 = 20_000;

#[derive(Default)]
struct Stage {
    /// The round that may begin.
    open: AtomicU64,
    word: AtomicU32,
    /// The round that was published last.
    published: AtomicU64,
    /// The round the sender is done with, times two; the lowest bit: it saw the sleeper.
    done: AtomicU64,
}

fn until(mut ready: impl FnMut() -> bool) {
    while !ready() {
        thread::yield_now();
    }
}

impl Stage {
    fn sender(&self, fencing: Fencing) {
        for round in 1..=ROUNDS {
            until(|| self.open.load(Ordering::Acquire) >= round);
            (0..round % 32).for_each(|_| std::hint::spin_loop());
            self.published.store(round, Ordering::Relaxed);
            fencing.light();
            let saw = self.word.load(Ordering::Relaxed) != AWAKE;
            self.done.store(round << 1 | u64::from(saw), Ordering::Release);
        }
    }

    /// In how many rounds neither the sleeper saw what was published nor the sender the sleeper.
    fn sleeper(&self) -> u64 {
        let mut missed = 0;
        for round in 1..=ROUNDS {
            cancel(&self.word);
            self.open.store(round, Ordering::Release);
            (0..round / 32 % 32).for_each(|_| std::hint::spin_loop());
            announce(&self.word, WakeBy::Futex);
            membarrier::heavy();
            let saw = self.published.load(Ordering::Relaxed) >= round;
            until(|| self.done.load(Ordering::Acquire) >> 1 == round);
            let seen = self.done.load(Ordering::Relaxed) & 1 == 1;
            missed += u64::from(!saw && !seen);
        }
        missed
    }
}

#[test]
fn either_the_sleeper_sees_the_packet_or_the_sender_sees_the_sleeper() {
    let fencing = membarrier::register();
    let stage = Stage::default();
    thread::scope(|scope| {
        scope.spawn(|| stage.sender(fencing));
        assert_eq!(stage.sleeper(), 0, "rounds in which neither saw the other");
    });
}
