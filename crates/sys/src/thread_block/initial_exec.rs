//! The word of a thread in which the address of its block lies, at a fixed distance from the thread pointer.
//!
//! It is of the initial-exec model, as the word with the number of a thread, and for the same reason.

use std::arch::{asm, global_asm};

global_asm!(
    ".pushsection .tdata.canele_thread_block,\"awT\",@progbits",
    ".globl canele_thread_block",
    ".hidden canele_thread_block",
    ".type canele_thread_block, @object",
    ".size canele_thread_block, 8",
    ".p2align 3",
    "canele_thread_block:",
    ".quad {zeros}",
    ".popsection",
    zeros = sym super::ZEROS,
);

/// The word of this thread.
#[inline(always)]
pub fn get() -> *const u8 {
    let word;
    // SAFETY: reads the variable that is defined above, which every thread has and only its own thread writes.
    unsafe {
        asm!(
            "mov {word}, qword ptr [rip + canele_thread_block@GOTTPOFF]",
            "mov {word}, qword ptr fs:[{word}]",
            word = out(reg) word,
            options(nostack, preserves_flags, pure, readonly),
        );
    }
    word
}

/// Sets the word of this thread.
pub fn set(word: *const u8) {
    // SAFETY: writes the variable that is defined above, which is this thread's alone.
    unsafe {
        asm!(
            "mov {place}, qword ptr [rip + canele_thread_block@GOTTPOFF]",
            "mov qword ptr fs:[{place}], {word}",
            place = out(reg) _,
            word = in(reg) word,
            options(nostack, preserves_flags),
        );
    }
}
