//! Tests of the lock with the real asymmetric barrier: which threads it lets in, which it refuses, and
//! frequent entries.

use super::*;
use crate::atomic::{hint, thread};
use crate::fork::tests::in_forked_child;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn one_thread_stays_the_owner() {
    let lock = BiasedLock::new(1);
    for _ in 0..3 {
        *lock.lock().unwrap() += 1;
    }
    assert_eq!(*lock.lock().unwrap(), 4);
    assert!(!lock.lock().unwrap().contended());
    let biased = membarrier::register_private() == Fencing::Asymmetric;
    assert_eq!(lock.lock().unwrap().biased, biased);
    assert_eq!(lock.revoked.load(Ordering::Relaxed), !biased);
}

#[test]
fn another_thread_ends_the_bias_for_ever() {
    let lock = BiasedLock::new(1);
    *lock.lock().unwrap() += 1;
    thread::scope(|scope| scope.spawn(|| *lock.lock().unwrap() += 1).join().unwrap());
    assert_eq!(*lock.lock().unwrap(), 3);
    assert!(!lock.lock().unwrap().biased);
    assert_ne!(lock.owner.load(Ordering::Relaxed), fork::token().unwrap(), "no more detours");
}

#[test]
fn a_lock_without_bias_is_taken_at_once_if_it_is_free() {
    let lock = BiasedLock::with(0, true);
    drop(lock.lock().unwrap());
    assert!(lock.is_biased_here() && lock.lock_if_free().is_none(), "a thread has the bias");
    assert!(lock.lock_at_once().is_some_and(|guard| guard.biased));
    // A thread that has no number cannot hold the lock.
    let of_another = || {
        let before = lock.lock_at_once().is_none();
        *lock.lock().unwrap() += 1;
        before && !lock.is_biased_here() && lock.lock_at_once().is_some()
    };
    assert!(thread::scope(|scope| scope.spawn(of_another).join().unwrap()));
    let guard = lock.lock_at_once().unwrap();
    assert!(!guard.biased && *guard == 1 && lock.is_held_here());
    assert!(lock.lock_if_free().is_none(), "it is held");
    let is_free = || fork::token().is_ok() && lock.lock_at_once().is_some();
    assert!(!thread::scope(|scope| scope.spawn(is_free).join().unwrap()));
    drop(guard);
    assert!(thread::scope(|scope| scope.spawn(is_free).join().unwrap()));
    fork::watch();
    assert_eq!(in_forked_child(|| u8::from(lock.lock_at_once().is_none())), 1);
}

#[test]
fn a_thread_knows_whether_it_holds_the_lock() {
    for biased in [true, false] {
        let lock = BiasedLock::with((), biased);
        assert!(!lock.is_held_here());
        let guard = lock.lock().unwrap();
        assert!(lock.is_held_here());
        thread::scope(|scope| scope.spawn(|| assert!(!lock.is_held_here())).join().unwrap());
        drop(guard);
        assert!(!lock.is_held_here());
    }
}

#[test]
fn entering_twice_is_a_mistake() {
    for biased in [true, false] {
        let lock = BiasedLock::with((), biased);
        let guard = lock.lock().unwrap();
        let twice = catch_unwind(AssertUnwindSafe(|| drop(lock.lock())));
        let text = *twice.unwrap_err().downcast::<&str>().unwrap();
        assert_eq!(text, "Canelé was called by a thread that is inside Canelé already (from a callback?)");
        drop(guard);
        lock.lock().unwrap();
    }
}

#[test]
fn a_panic_inside_leaves_the_lock_open() {
    for biased in [true, false] {
        let lock = BiasedLock::with(0, biased);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _guard = lock.lock().unwrap();
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        *lock.lock().unwrap() += 1;
    }
}

#[test]
fn a_forked_child_stays_outside() {
    fork::watch();
    for biased in [true, false] {
        let lock = BiasedLock::with((), biased);
        drop(lock.lock().unwrap());
        let answer = in_forked_child(|| u8::from(lock.lock().map(drop) == Err(Forked)));
        assert_eq!(answer, 1);
        drop(lock.lock().unwrap());
    }
}

/// Both sides add to a plain number while the bias is being revoked, in many locks.
#[test]
fn revoking_meets_an_owner_in_a_hurry() {
    const GATES: u64 = 2000;
    const ENTRIES: u64 = 50;
    membarrier::register_private();
    for round in 0..GATES {
        let lock = BiasedLock::new(0u64);
        drop(lock.lock().unwrap());
        thread::scope(|scope| {
            scope.spawn(|| {
                // This shifts the revocation along the owner's entries.
                for _ in 0..round % 64 * 16 {
                    hint::spin_loop();
                }
                for _ in 0..ENTRIES {
                    *lock.lock().unwrap() += 1;
                }
            });
            for _ in 0..ENTRIES {
                *lock.lock().unwrap() += 1;
            }
        });
        assert_eq!(*lock.lock().unwrap(), 2 * ENTRIES, "lock {round}");
    }
}

#[test]
fn many_threads_take_turns() {
    const THREADS: u64 = 4;
    const ENTRIES: u64 = 20_000;
    for biased in [true, false] {
        let lock = BiasedLock::with(0u64, biased);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..ENTRIES {
                        *lock.lock().unwrap() += 1;
                    }
                });
            }
        });
        assert_eq!(*lock.lock().unwrap(), THREADS * ENTRIES);
    }
}

/// A waiting holder never keeps out the thread that brings the awaited value.
#[test]
fn a_waiter_pauses_for_others() {
    const ROUNDS: u64 = 500;
    for biased in [true, false] {
        let lock = BiasedLock::with(0, biased);
        let mut guard = lock.lock().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    *lock.lock().unwrap() += 1;
                }
            });
            while *guard < ROUNDS {
                // The check bounds the loop: each pause lets the other thread in once.
                if guard.contended() {
                    guard = guard.pause().unwrap();
                }
                hint::spin_loop();
            }
        });
    }
}
