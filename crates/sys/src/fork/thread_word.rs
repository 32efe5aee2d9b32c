//! The word of a thread in which its number lies, 0 at first, at a fixed distance from the thread pointer.
//!
//! A thread-local variable of Rust in a shared library is found by a call of the loader each time. This one is of the
//! initial-exec model: its distance is known once the library is loaded, and reading it takes two instructions. A loaded
//! library has few bytes for such variables, of which this one takes eight.

use std::arch::{asm, global_asm};

global_asm!(
    ".pushsection .tbss.canele_thread_word,\"awT\",@nobits",
    ".globl canele_thread_word",
    ".hidden canele_thread_word",
    ".type canele_thread_word, @object",
    ".size canele_thread_word, 8",
    ".p2align 3",
    "canele_thread_word:",
    ".zero 8",
    ".popsection",
);

/// The word of this thread.
#[inline(always)]
pub fn get() -> u64 {
    let word;
    // SAFETY: reads the variable that is defined above, which every thread has and only its own thread writes.
    unsafe {
        asm!(
            "mov {word}, qword ptr [rip + canele_thread_word@GOTTPOFF]",
            "mov {word}, qword ptr fs:[{word}]",
            word = out(reg) word,
            options(nostack, preserves_flags, pure, readonly),
        );
    }
    word
}

/// Sets the word of this thread. Async-signal-safe.
pub fn set(word: u64) {
    // SAFETY: writes the variable that is defined above, which is this thread's alone.
    unsafe {
        asm!(
            "mov {place}, qword ptr [rip + canele_thread_word@GOTTPOFF]",
            "mov qword ptr fs:[{place}], {word}",
            place = out(reg) _,
            word = in(reg) word,
            options(nostack, preserves_flags),
        );
    }
}
