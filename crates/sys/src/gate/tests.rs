//! The gate with the real asymmetric barrier: what it lets in, what it refuses, and threads in a hurry.

use super::*;
use crate::atomic::{hint, thread};
use crate::fork::tests::in_forked_child;
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn one_thread_stays_the_owner() {
    let gate = Gate::new(1);
    for _ in 0..3 {
        *gate.enter().unwrap() += 1;
    }
    assert_eq!(*gate.enter().unwrap(), 4);
    assert!(!gate.enter().unwrap().contended());
    let biased = membarrier::register_private() == Fencing::Asymmetric;
    assert_eq!(gate.enter().unwrap().biased, biased);
    assert_eq!(gate.revoked.load(Ordering::Relaxed), !biased);
}

#[test]
fn another_thread_ends_the_bias_for_ever() {
    let gate = Gate::new(1);
    *gate.enter().unwrap() += 1;
    thread::scope(|scope| scope.spawn(|| *gate.enter().unwrap() += 1).join().unwrap());
    assert_eq!(*gate.enter().unwrap(), 3);
    assert!(!gate.enter().unwrap().biased);
    assert_ne!(gate.owner.load(Ordering::Relaxed), fork::token().unwrap(), "no more detours");
}

#[test]
fn entering_twice_is_a_mistake() {
    for biased in [true, false] {
        let gate = Gate::with((), biased);
        let guard = gate.enter().unwrap();
        let twice = catch_unwind(AssertUnwindSafe(|| drop(gate.enter())));
        let text = *twice.unwrap_err().downcast::<&str>().unwrap();
        assert_eq!(text, "Canelé was called by a thread that is inside Canelé already (from a callback?)");
        drop(guard);
        gate.enter().unwrap();
    }
}

#[test]
fn a_panic_inside_leaves_the_gate_open() {
    for biased in [true, false] {
        let gate = Gate::with(0, biased);
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let _guard = gate.enter().unwrap();
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        *gate.enter().unwrap() += 1;
    }
}

#[test]
fn a_forked_child_stays_outside() {
    fork::watch();
    for biased in [true, false] {
        let gate = Gate::with((), biased);
        drop(gate.enter().unwrap());
        let answer = in_forked_child(|| u8::from(gate.enter().map(drop) == Err(Forked)));
        assert_eq!(answer, 1);
        drop(gate.enter().unwrap());
    }
}

/// Both sides add to a plain number while the bias is being revoked, in many gates.
#[test]
fn revoking_meets_an_owner_in_a_hurry() {
    const GATES: u64 = 2000;
    const ENTRIES: u64 = 50;
    membarrier::register_private();
    for round in 0..GATES {
        let gate = Gate::new(0u64);
        drop(gate.enter().unwrap());
        thread::scope(|scope| {
            scope.spawn(|| {
                // Moves the revocation along the owner's entries.
                for _ in 0..round % 64 * 16 {
                    hint::spin_loop();
                }
                for _ in 0..ENTRIES {
                    *gate.enter().unwrap() += 1;
                }
            });
            for _ in 0..ENTRIES {
                *gate.enter().unwrap() += 1;
            }
        });
        assert_eq!(*gate.enter().unwrap(), 2 * ENTRIES, "gate {round}");
    }
}

#[test]
fn many_threads_take_turns() {
    const THREADS: u64 = 4;
    const ENTRIES: u64 = 20_000;
    for biased in [true, false] {
        let gate = Gate::with(0u64, biased);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..ENTRIES {
                        *gate.enter().unwrap() += 1;
                    }
                });
            }
        });
        assert_eq!(*gate.enter().unwrap(), THREADS * ENTRIES);
    }
}

/// A thread that waits inside never keeps out the one that brings what it waits for.
#[test]
fn a_waiter_pauses_for_others() {
    const ROUNDS: u64 = 500;
    for biased in [true, false] {
        let gate = Gate::with(0, biased);
        let mut guard = gate.enter().unwrap();
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    *gate.enter().unwrap() += 1;
                }
            });
            while *guard < ROUNDS {
                // The look is the loop's bound: each pause lets the other in once.
                if guard.contended() {
                    guard = guard.pause().unwrap();
                }
                hint::spin_loop();
            }
        });
    }
}
