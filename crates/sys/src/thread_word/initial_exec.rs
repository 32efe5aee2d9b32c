//! The word at a fixed distance from the thread pointer.

/// Defines `get` and `set` of a word of this type and symbol name. The initial value is given in assembler
/// and in Rust.
macro_rules! thread_word {
    ($word:ty, $symbol:literal, $kind:tt $first:path, $_first:expr) => {
        std::arch::global_asm!(
            concat!(".pushsection .tdata.", $symbol, ",\"awT\",%progbits"),
            concat!(".globl ", $symbol),
            concat!(".hidden ", $symbol),
            concat!(".type ", $symbol, ", %object"),
            concat!(".size ", $symbol, ", 8"),
            ".p2align 3",
            concat!($symbol, ":"),
            ".quad {first}",
            ".popsection",
            first = $kind $first,
        );

        /// Returns the word of this thread.
        #[inline(always)]
        pub fn get() -> $word {
            let word;
            // SAFETY: reads the variable that is defined above, which every thread has and only its own
            // thread writes.
            unsafe {
                #[cfg(target_arch = "x86_64")]
                std::arch::asm!(
                    concat!("mov {word}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                    "mov {word}, qword ptr fs:[{word}]",
                    word = out(reg) word,
                    options(nostack, preserves_flags, pure, readonly),
                );
                #[cfg(target_arch = "aarch64")]
                std::arch::asm!(
                    concat!("adrp {distance}, :gottprel:", $symbol),
                    concat!("ldr {distance}, [{distance}, :gottprel_lo12:", $symbol, "]"),
                    "mrs {word}, tpidr_el0",
                    "ldr {word}, [{word}, {distance}]",
                    distance = out(reg) _,
                    word = out(reg) word,
                    options(nostack, preserves_flags, pure, readonly),
                );
            }
            word
        }

        /// Sets the word of this thread. Async-signal-safe.
        pub fn set(word: $word) {
            // SAFETY: writes the variable that is defined above, which is this thread's alone.
            unsafe {
                #[cfg(target_arch = "x86_64")]
                std::arch::asm!(
                    concat!("mov {place}, qword ptr [rip + ", $symbol, "@GOTTPOFF]"),
                    "mov qword ptr fs:[{place}], {word}",
                    place = out(reg) _,
                    word = in(reg) word,
                    options(nostack, preserves_flags),
                );
                #[cfg(target_arch = "aarch64")]
                std::arch::asm!(
                    concat!("adrp {distance}, :gottprel:", $symbol),
                    concat!("ldr {distance}, [{distance}, :gottprel_lo12:", $symbol, "]"),
                    "mrs {place}, tpidr_el0",
                    "str {word}, [{place}, {distance}]",
                    distance = out(reg) _,
                    place = out(reg) _,
                    word = in(reg) word,
                    options(nostack, preserves_flags),
                );
            }
        }
    };
}
pub(crate) use thread_word;
