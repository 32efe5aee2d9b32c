//! Models of every interleaving of a few threads at a lock, with full fences where the real lock uses
//! membarrier.
//!
//! Run with `RUSTFLAGS="--cfg loom" cargo test -p canele-sys --release --lib loom_`. The value lies in a cell
//! that loom watches: two threads inside at once fail the model, and so does a sleeper that no thread wakes.

use super::*;
use loom::sync::Arc;
use loom::thread;

/// Takes the lock `times` times and adds one each time.
fn add(lock: &BiasedLock<u32>, times: u32) {
    for _ in 0..times {
        *lock.lock().unwrap() += 1;
    }
}

fn explore(preemptions: usize, model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(model);
}

/// Explores an owner that adds two, by `add_twice`, beside another thread.
fn explore_an_owner_beside_another(add_twice: impl Fn(&BiasedLock<u32>) + Sync + Send + 'static) {
    explore(4, move || {
        let lock = Arc::new(BiasedLock::with(0, true));
        add(&lock, 1);
        let other = thread::spawn({
            let lock = Arc::clone(&lock);
            move || add(&lock, 1)
        });
        add_twice(&lock);
        other.join().unwrap();
        assert_eq!(*lock.lock().unwrap(), 4);
    });
}

#[test]
fn loom_an_owner_loses_its_bias() {
    explore_an_owner_beside_another(|lock| add(lock, 2));
}

#[test]
fn loom_an_owner_that_knows_itself_loses_its_bias() {
    explore_an_owner_beside_another(|lock| {
        for _ in 0..2 {
            // SAFETY: this thread was the first one inside, and is outside now.
            match unsafe { lock.lock_as_owner() } {
                Some(mut value) => *value += 1,
                None => add(lock, 1),
            }
        }
    });
}

/// Adds one, by `lock_at_once` if that succeeds.
fn add_at_once(lock: &BiasedLock<u32>) {
    match lock.lock_at_once() {
        Some(mut value) => *value += 1,
        None => add(lock, 1),
    }
}

#[test]
fn loom_threads_take_the_lock_at_once_while_the_bias_ends() {
    explore(3, || {
        let lock = Arc::new(BiasedLock::with(0, true));
        add(&lock, 1);
        let other = thread::spawn({
            let lock = Arc::clone(&lock);
            move || {
                add(&lock, 1);
                add_at_once(&lock);
            }
        });
        add_at_once(&lock);
        add_at_once(&lock);
        other.join().unwrap();
        assert_eq!(*lock.lock().unwrap(), 5);
    });
}

#[test]
fn loom_two_threads_want_to_be_first() {
    explore(4, || {
        let lock = Arc::new(BiasedLock::with(0, true));
        let other = thread::spawn({
            let lock = Arc::clone(&lock);
            move || add(&lock, 1)
        });
        add(&lock, 1);
        other.join().unwrap();
        assert_eq!(*lock.lock().unwrap(), 2);
    });
}

#[test]
fn loom_two_threads_revoke_at_once() {
    explore(2, || {
        let lock = Arc::new(BiasedLock::with(0, true));
        add(&lock, 1);
        let others = [(); 2].map(|()| {
            let lock = Arc::clone(&lock);
            thread::spawn(move || add(&lock, 1))
        });
        add(&lock, 1);
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(*lock.lock().unwrap(), 4);
    });
}

#[test]
fn loom_a_lock_without_bias() {
    explore(3, || {
        let lock = Arc::new(BiasedLock::with(0, false));
        let other = thread::spawn({
            let lock = Arc::clone(&lock);
            move || add(&lock, 2)
        });
        add(&lock, 2);
        other.join().unwrap();
        assert_eq!(*lock.lock().unwrap(), 4);
    });
}

/// Explores a holder that pauses the lock until another thread brings the value that the holder waits for.
fn waiter_and_bringer(biased: bool) {
    let lock = Arc::new(BiasedLock::with(0, biased));
    let mut guard = lock.lock().unwrap();
    let bringer = thread::spawn({
        let lock = Arc::clone(&lock);
        move || add(&lock, 1)
    });
    while *guard == 0 {
        if guard.contended() {
            guard = guard.pause().unwrap();
        } else {
            thread::yield_now();
        }
    }
    drop(guard);
    bringer.join().unwrap();
}

#[test]
fn loom_a_waiter_lets_others_in() {
    explore(3, || waiter_and_bringer(false));
}

#[test]
fn loom_a_waiting_owner_lets_others_in() {
    explore(3, || waiter_and_bringer(true));
}
