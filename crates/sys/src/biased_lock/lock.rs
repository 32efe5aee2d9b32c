//! The lock that a biased lock uses once its bias is revoked: a futex mutex that knows its holder. The holder
//! can hand the mutex to a waiting thread.
//!
//! This module never knows the value that the lock guards, and never runs on the path of a single-threaded
//! program.

use crate::atomic::{AtomicU32, AtomicU64, Ordering, fence, hint};
use crate::fork::NO_TOKEN;
use crate::futex;

const FREE: u32 = 0;
const HELD: u32 = 1;
/// The lock is held, and a thread may sleep on it.
const SLEPT_ON: u32 = 2;

/// Checks before a thread sleeps: critical sections are short. A model gains nothing by more.
const LOOKS: u32 = if cfg!(loom) { 1 } else { 100 };

pub(super) struct Lock {
    word: AtomicU32,
    /// Counts threads that did not find the lock free and wait for it.
    waiting: AtomicU32,
    /// Counts threads that waited and then took the lock.
    turn: AtomicU32,
    /// Counts threads in `give`, which sleep on `turn`.
    giving: AtomicU32,
    /// The token of the thread that holds the lock.
    holder: AtomicU64,
}

impl Lock {
    pub(super) fn new() -> Lock {
        Lock {
            word: AtomicU32::new(FREE),
            waiting: AtomicU32::new(0),
            turn: AtomicU32::new(0),
            giving: AtomicU32::new(0),
            holder: AtomicU64::new(NO_TOKEN),
        }
    }

    /// Returns true if the calling thread, whose token this is, holds the lock.
    pub(super) fn held_by(&self, me: u64) -> bool {
        // Relaxed: only the calling thread stores its own token, so the comparison cannot be wrong.
        self.holder.load(Ordering::Relaxed) == me
    }

    /// Returns true if a thread waits for the lock.
    pub(super) fn wanted(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) != 0
    }

    pub(super) fn take(&self, me: u64) {
        // Acquire pairs with the release swap in `free`.
        if self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_err() {
            self.wait();
        }
        self.holder.store(me, Ordering::Relaxed);
    }

    /// Takes the lock if it is free; returns true if it was.
    #[inline(always)]
    pub(super) fn take_if_free(&self, me: u64) -> bool {
        // Relaxed: this check avoids taking the cache line from a holder in vain. Acquire: as in `take`.
        let is_taken = self.word.load(Ordering::Relaxed) == FREE
            && self.word.compare_exchange(FREE, HELD, Ordering::Acquire, Ordering::Relaxed).is_ok();
        if is_taken {
            self.holder.store(me, Ordering::Relaxed);
        }
        is_taken
    }

    pub(super) fn free(&self) {
        self.holder.store(NO_TOKEN, Ordering::Relaxed);
        // Release pairs with the acquires in `take` and `wait`.
        if self.word.swap(FREE, Ordering::Release) == SLEPT_ON {
            futex::wake(&self.word, 1);
        }
    }

    #[cold]
    fn wait(&self) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        for _ in 0..LOOKS {
            if self.word.load(Ordering::Relaxed) == FREE {
                break;
            }
            hint::spin_loop();
        }
        // Acquire pairs with the release swap in `free`. The word may be `SLEPT_ON` while no thread sleeps;
        // then one wake-up is in vain.
        while self.word.swap(SLEPT_ON, Ordering::Acquire) != FREE {
            futex::wait(&self.word, SLEPT_ON, None);
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.turn.fetch_add(1, Ordering::Relaxed);
        // SeqCst pairs with the full barrier before the kernel compares in `give`: `give` sees the new turn,
        // or this thread sees the giver.
        fence(Ordering::SeqCst);
        if self.giving.load(Ordering::Relaxed) != 0 {
            futex::wake(&self.turn, u32::MAX);
        }
    }

    /// Returns the turn that the holder can `give` away once the lock is free, if a thread waits for it.
    pub(super) fn turn_to_give(&self) -> Option<u32> {
        // Relaxed: a waiting thread changes the turn only while it holds the lock, which is later.
        self.wanted().then(|| self.turn.load(Ordering::Relaxed))
    }

    /// Waits until a thread that waited while the caller held the lock has taken it.
    pub(super) fn give(&self, turn: Option<u32>) {
        let Some(turn) = turn else { return };
        self.giving.fetch_add(1, Ordering::Relaxed);
        while self.turn.load(Ordering::Relaxed) == turn {
            futex::wait(&self.turn, turn, None);
        }
        self.giving.fetch_sub(1, Ordering::Relaxed);
    }
}
