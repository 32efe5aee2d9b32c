//! A word of each thread that its library finds without a call of the loader.
//!
//! A library finds each thread-local variable of Rust by a call of the loader. These words use the
//! initial-exec model: their distance from the thread pointer is known once the library is loaded, and a read
//! takes two to four instructions. A loaded library has few bytes for such variables; each word takes eight.
//! Models and processors without such access use variables of Rust.

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(any(loom, miri))))]
#[path = "thread_word/initial_exec.rs"]
mod word;
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(any(loom, miri)))))]
#[path = "thread_word/thread_local.rs"]
mod word;

pub(crate) use word::thread_word;
