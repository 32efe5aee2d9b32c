//! The word as a thread-local variable of Rust.

/// Defines `get` and `set` of a word of this type with its initial value.
macro_rules! thread_word {
    ($word:ty, $_symbol:literal, $_kind:tt $_first:path, $first:expr) => {
        #[cfg(not(loom))]
        std::thread_local! {
            static WORD: std::cell::Cell<$word> = const { std::cell::Cell::new($first) };
        }
        #[cfg(loom)]
        loom::thread_local! {
            static WORD: std::cell::Cell<$word> = std::cell::Cell::new($first);
        }

        /// Returns the word of this thread.
        #[inline(always)]
        pub fn get() -> $word {
            WORD.with(std::cell::Cell::get)
        }

        /// Sets the word of this thread. Async-signal-safe: the variable has no destructor.
        pub fn set(word: $word) {
            WORD.with(|place| place.set(word));
        }
    };
}
pub(crate) use thread_word;
