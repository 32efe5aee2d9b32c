//! Tests of the asymmetric pair on real processors: the models know only full fences.

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
    /// Twice the round that the sender has finished; the lowest bit: it saw the sleeper.
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

    /// Returns the number of rounds in which neither the sleeper saw the published data nor the sender the
    /// sleeper.
    fn sleeper(&self) -> u64 {
        let mut missed = 0;
        for round in 1..=ROUNDS {
            cancel(&self.word);
            self.open.store(round, Ordering::Release);
            (0..round / 32 % 32).for_each(|_| std::hint::spin_loop());
            announce(&self.word, WakeBy::Futex, membarrier::register()).heavy();
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
    membarrier::alone(
        "sleep::tests::either_the_sleeper_sees_the_packet_or_the_sender_sees_the_sleeper",
        || {
            let fencing = membarrier::register_everywhere();
            let stage = Stage::default();
            thread::scope(|scope| {
                scope.spawn(|| stage.sender(fencing));
                assert_eq!(stage.sleeper(), 0, "rounds in which neither saw the other");
            });
        },
    );
}

/// A word with a cache line to itself, so that a store to it takes long to become visible while another word
/// is loaded.
#[derive(Default)]
#[repr(align(128))]
struct Alone<T>(T);

/// A sender that publishes by plain stores, and a sleeper whose barrier reaches no processor, as if the
/// kernel left all out.
#[derive(Default)]
struct Unfenced {
    word: Alone<AtomicU32>,
    published: Alone<AtomicU64>,
    taken: Alone<AtomicU64>,
}

impl Unfenced {
    fn publish(&self, event: Option<&Event>) {
        for round in 1..=4 * ROUNDS {
            until(|| self.taken.0.load(Ordering::Acquire) == round - 1);
            (0..round % 32).for_each(|_| std::hint::spin_loop());
            self.published.0.store(round, Ordering::Release);
            Fencing::Asymmetric.light();
            if self.word.0.load(Ordering::Relaxed) != AWAKE {
                wake(&self.word.0, event);
            }
        }
    }

    fn take(&self, by: WakeBy, sleep: impl Fn()) {
        for round in 1..=4 * ROUNDS {
            let has_come = || self.published.0.load(Ordering::Acquire) == round;
            (0..round / 32 % 32).for_each(|_| std::hint::spin_loop());
            while !has_come() {
                // The heavy barrier is left out.
                let _ = announce(&self.word.0, by, Fencing::Asymmetric);
                match has_come() {
                    true => cancel(&self.word.0),
                    false => sleep(),
                }
            }
            self.taken.0.store(round, Ordering::Release);
        }
    }
}

/// Without the nap the test hangs in most runs.
#[test]
fn a_barrier_that_reached_no_processor_costs_a_nap() {
    let memory = Unfenced::default();
    thread::scope(|scope| {
        scope.spawn(|| memory.publish(None));
        memory.take(WakeBy::Futex, || sleep(&memory.word.0, None));
    });
    let (memory, watch) = (Unfenced::default(), Watch::open().unwrap());
    thread::scope(|scope| {
        scope.spawn(|| memory.publish(Some(watch.event())));
        memory.take(WakeBy::Event, || watch.sleep(&memory.word.0, None));
    });
}

#[test]
fn a_nap_is_followed_by_a_sleep_for_good() {
    let (word, watch) = (AtomicU32::new(AWAKE), Watch::open().unwrap());
    let sleeps: [(_, &dyn Fn()); 2] =
        [(WakeBy::Futex, &|| sleep(&word, None)), (WakeBy::Event, &|| watch.sleep(&word, None))];
    for (by, sleep) in sleeps {
        assert_eq!(announce(&word, by, Fencing::Asymmetric), Fencing::Asymmetric);
        sleep();
        assert_eq!(word.load(Ordering::Relaxed), by as u32, "still announced");
        assert_eq!(
            announce(&word, by, Fencing::Asymmetric),
            Fencing::Fences,
            "those who know nothing of it are done"
        );
        assert_eq!(limit(word.load(Ordering::Relaxed), None), (None, false));
        assert!(wake(&word, Some(watch.event())));
        // A sleeper that is woken between two naps begins again.
        let _ = announce(&word, by, Fencing::Asymmetric);
        wake(&word, None);
        assert_eq!(announce(&word, by, Fencing::Asymmetric), Fencing::Asymmetric);
        cancel(&word);
    }
    assert_eq!(announce(&word, WakeBy::Futex, Fencing::Fences), Fencing::Fences);
    assert_eq!(limit(word.load(Ordering::Relaxed), None), (None, false), "a whole barrier needs no nap");
    cancel(&word);
}

#[test]
fn a_sleep_that_is_over_before_a_nap_would_be_is_none() {
    let word = AtomicU32::new(AWAKE);
    let _ = announce(&word, WakeBy::Futex, Fencing::Asymmetric);
    sleep(&word, Some(Duration::from_nanos(1)));
    assert_eq!(word.load(Ordering::Relaxed), AWAKE);
}
