//! Models: whoever is not seen at the second look has woken the sleeper.

use loom::sync::Arc;
use loom::thread;

use super::*;
use crate::atomic::AtomicU64;
use crate::membarrier;

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
                    wake_if_asleep(&memory.word, fencing)
                }
            });
            announce(&memory.word);
            membarrier::heavy();
            let seen = memory.published.load(Ordering::Acquire) == 1;
            let woken = sender.join().unwrap();
            assert!(seen || woken, "overlooked");
            assert_eq!(memory.word.load(Ordering::Relaxed), if woken { AWAKE } else { ASLEEP });
        });
    }
}

#[test]
fn loom_two_wakers_wake_once() {
    loom::model(|| {
        let memory = Arc::new(Memory::default());
        announce(&memory.word);
        let other = thread::spawn({
            let memory = memory.clone();
            move || wake_if_asleep(&memory.word, Fencing::Fences)
        });
        let woken = wake_if_asleep(&memory.word, Fencing::Fences);
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
                wake_if_asked(&memory.wants, &memory.word)
            }
        });
        announce(&memory.word);
        ask_for_room(&memory.wants);
        membarrier::heavy();
        let seen = memory.given_back.load(Ordering::Relaxed) == 1;
        assert!(consumer.join().unwrap() || seen, "starved");
    });
}

/// The wish of the first sleep may be answered while the second is being prepared.
#[test]
fn loom_a_wish_made_again_is_not_erased() {
    loom::model(|| {
        let memory = Arc::new(Memory::default());
        announce(&memory.word);
        ask_for_room(&memory.wants);
        let consumer = thread::spawn({
            let memory = memory.clone();
            move || {
                memory.given_back.store(1, Ordering::Release);
                wake_if_asked(&memory.wants, &memory.word)
            }
        });
        // The time was over; what came meanwhile was used up and was not enough.
        cancel(&memory.word);
        let known = memory.given_back.load(Ordering::Acquire);
        announce(&memory.word);
        ask_for_room(&memory.wants);
        membarrier::heavy();
        let seen = memory.given_back.load(Ordering::Relaxed) > known;
        consumer.join().unwrap();
        let asleep = memory.word.load(Ordering::Relaxed) == ASLEEP;
        let asked = memory.wants.load(Ordering::Relaxed) == 1;
        assert!(seen || !asleep || asked, "asleep, and the next room will wake nobody");
    });
}
