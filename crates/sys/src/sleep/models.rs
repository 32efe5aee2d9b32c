//! Models of the sleep protocol: a packet that the second look misses has woken the sleeper.

use loom::sync::Arc;
use loom::thread;

use super::*;
use crate::atomic::AtomicU64;

#[derive(Default)]
struct Memory {
    word: AtomicU32,
    wants: AtomicU32,
    published: AtomicU64,
    given_back: AtomicU64,
}

#[test]
fn loom_a_packet_is_seen_or_wakes() {
    for fencing in [Fencing::Asymmetric, Fencing::Fences] {
        loom::model(move || {
            let memory = Arc::new(Memory::default());
            let sender = thread::spawn({
                let memory = memory.clone();
                move || {
                    memory.published.store(1, Ordering::Release);
                    wake_if_asleep(&memory.word, fencing, None)
                }
            });
            announce(&memory.word, WakeBy::Futex, Fencing::Asymmetric).heavy();
            let seen = memory.published.load(Ordering::Acquire) == 1;
            let woken = sender.join().unwrap();
            assert!(seen || woken, "overlooked");
            assert_eq!(memory.word.load(Ordering::Relaxed), if woken { AWAKE } else { WakeBy::Futex as u32 });
        });
    }
}

/// Every sender that publishes after the nap has seen its announcement, with or without a fence.
#[test]
fn loom_who_has_napped_sees_the_packet_or_is_woken() {
    loom::model(|| {
        let memory = Arc::new(Memory::default());
        let _ = announce(&memory.word, WakeBy::Futex, Fencing::Asymmetric);
        let sender = thread::spawn({
            let memory = memory.clone();
            move || {
                memory.published.store(1, Ordering::Release);
                memory.word.load(Ordering::Relaxed) != AWAKE && wake(&memory.word, None)
            }
        });
        announce(&memory.word, WakeBy::Futex, Fencing::Asymmetric).heavy();
        let seen = memory.published.load(Ordering::Acquire) == 1;
        assert!(sender.join().unwrap() || seen, "overlooked");
    });
}

#[test]
fn loom_two_wakers_wake_once() {
    loom::model(|| {
        let memory = Arc::new(Memory::default());
        let _ = announce(&memory.word, WakeBy::Futex, Fencing::Asymmetric);
        let other = thread::spawn({
            let memory = memory.clone();
            move || wake_if_asleep(&memory.word, Fencing::Fences, None)
        });
        let woken = wake_if_asleep(&memory.word, Fencing::Fences, None);
        assert!(woken ^ other.join().unwrap());
    });
}

#[test]
fn loom_room_is_seen_or_wakes() {
    loom::model(|| {
        let memory = Arc::new(Memory::default());
        let consumer = thread::spawn({
            let memory = memory.clone();
            move || {
                memory.given_back.store(1, Ordering::Release);
                wake_if_asked(&memory.wants, &memory.word, None)
            }
        });
        let barrier = announce(&memory.word, WakeBy::Futex, Fencing::Asymmetric);
        ask_for_room(&memory.wants);
        barrier.heavy();
        let seen = memory.given_back.load(Ordering::Relaxed) == 1;
        assert!(consumer.join().unwrap() || seen, "starved");
    });
}

/// The request of the first sleep may be answered while the second is being prepared.
#[test]
fn loom_a_wish_made_again_is_not_erased() {
    loom::model(|| {
        let memory = Arc::new(Memory::default());
        let _ = announce(&memory.word, WakeBy::Futex, Fencing::Asymmetric);
        ask_for_room(&memory.wants);
        let consumer = thread::spawn({
            let memory = memory.clone();
            move || {
                memory.given_back.store(1, Ordering::Release);
                wake_if_asked(&memory.wants, &memory.word, None)
            }
        });
        // The time was over; the data that came meanwhile was used up and was not enough.
        cancel(&memory.word);
        let known = memory.given_back.load(Ordering::Acquire);
        let barrier = announce(&memory.word, WakeBy::Futex, Fencing::Asymmetric);
        ask_for_room(&memory.wants);
        barrier.heavy();
        let seen = memory.given_back.load(Ordering::Relaxed) > known;
        consumer.join().unwrap();
        let asleep = memory.word.load(Ordering::Relaxed) == WakeBy::Futex as u32;
        let asked = memory.wants.load(Ordering::Relaxed) == 1;
        assert!(seen || !asleep || asked, "asleep, and the next room will not wake the sleeper");
    });
}

/// The amount of published data, and the word and event of the thread that waits for it.
#[derive(Default)]
struct Listening {
    word: AtomicU32,
    event: Event,
    published: AtomicU64,
}

impl Listening {
    fn publish(&self, fencing: Fencing) {
        self.published.fetch_add(1, Ordering::Release);
        wake_if_asleep(&self.word, fencing, Some(&self.event));
    }

    /// Waits until `much` is published; sleeps as `by` says first, and the other way the next time.
    fn wait(&self, much: u64, mut by: WakeBy) {
        let seen = || self.published.load(Ordering::Acquire) >= much;
        while !seen() {
            announce(&self.word, by, Fencing::Asymmetric).heavy();
            if seen() {
                return cancel(&self.word);
            }
            match by {
                WakeBy::Futex => sleep(&self.word, None),
                WakeBy::Event => self.event.sleep(&self.word),
            }
            by = if by == WakeBy::Futex { WakeBy::Event } else { WakeBy::Futex };
        }
    }
}

/// Returns a model with bounded preemption: every interleaving would take too long with so many steps.
fn bounded() -> loom::model::Builder {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model
}

/// A sender and another thread of the sleeper's process wake it; the ring of the later one must do no harm.
#[test]
fn loom_who_sleeps_by_event_is_woken() {
    for by in [WakeBy::Futex, WakeBy::Event] {
        bounded().check(move || {
            let rank = Arc::new(Listening::default());
            let others = [Fencing::Asymmetric, Fencing::Fences].map(|fencing| {
                let rank = rank.clone();
                thread::spawn(move || rank.publish(fencing))
            });
            rank.wait(2, by);
            for other in others {
                other.join().unwrap();
            }
        });
    }
}

/// A ring that comes after its sleep has ended must not swallow that of the next one.
#[test]
fn loom_a_late_ring_swallows_nothing() {
    bounded().check(|| {
        let rank = Arc::new(Listening::default());
        let other = thread::spawn({
            let rank = rank.clone();
            move || {
                rank.publish(Fencing::Asymmetric);
                rank.publish(Fencing::Fences);
            }
        });
        // The time of an earlier sleep is over when the other thread comes.
        announce(&rank.word, WakeBy::Event, Fencing::Asymmetric).heavy();
        cancel(&rank.word);
        rank.wait(1, WakeBy::Event);
        rank.wait(2, WakeBy::Event);
        other.join().unwrap();
    });
}
