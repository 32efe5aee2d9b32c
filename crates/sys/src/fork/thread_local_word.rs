//! The word of a thread in which its number lies, 0 at first, as a thread-local variable.

use crate::atomic::thread_local;
use std::cell::Cell;

#[cfg(not(loom))]
thread_local! {
    static WORD: Cell<u64> = const { Cell::new(0) };
}
#[cfg(loom)]
thread_local! {
    static WORD: Cell<u64> = Cell::new(0);
}

/// The word of this thread.
#[inline(always)]
pub fn get() -> u64 {
    WORD.with(Cell::get)
}

/// Sets the word of this thread. Async-signal-safe: it has no destructor.
pub fn set(word: u64) {
    WORD.with(|place| place.set(word));
}
