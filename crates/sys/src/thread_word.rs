//! A word of each thread that its library finds without a call of the loader.
//!
//! A thread-local variable of Rust in a shared library is found by such a call each time. These words are of the initial-exec model: their
//! distance from the thread pointer is known once the library is loaded, and reading one takes two to four instructions. A loaded library has
//! few bytes for such variables, of which each takes eight. Where the processor, or a model, has nothing of the kind they are variables of Rust.

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(any(loom, miri))))]
#[path = "thread_word/initial_exec.rs"]
mod word;
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(any(loom, miri)))))]
#[path = "thread_word/thread_local.rs"]
mod word;

pub(crate) use word::thread_word;
