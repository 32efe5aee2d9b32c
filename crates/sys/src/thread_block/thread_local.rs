//! The word of a thread in which the address of its block lies, as a thread-local variable.

use std::cell::Cell;

thread_local! {
    static WORD: Cell<*const u8> = const { Cell::new((&raw const super::ZEROS).cast()) };
}

/// The word of this thread.
#[inline(always)]
pub fn get() -> *const u8 {
    WORD.with(Cell::get)
}

/// Sets the word of this thread.
pub fn set(word: *const u8) {
    WORD.with(|place| place.set(word));
}
