//! Copies between memory of this thread and memory that other threads and processes may read and write at the same time.
//!
//! The shared side is accessed by instructions that the compiler can neither repeat nor analyse. Pieces of
//! one copy may overlap, and the size of each access is unspecified. So a racing copy may see a mixture of
//! old and new bytes, but never a byte that no process wrote. The compiler can neither read shared memory
//! again after a check nor assume that it does not change.
//!
//! On x86-64 and aarch64 the accesses are assembly, opaque to the compiler; the C library's `memcpy` and
//! `memmove` do long copies where they are fast. Elsewhere, and under miri, they are relaxed atomics. Loom
//! does not model the bytes of messages.

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri), not(loom)))]
mod assembly;
#[cfg(all(not(loom), any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64")))))]
mod atomics;
#[cfg(loom)]
mod plain;
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri), not(loom)))]
pub(crate) mod sums;

#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri), not(loom)))]
pub(crate) use assembly::{copy, load, store, stream_line, transfer};
#[cfg(all(target_arch = "x86_64", not(miri), not(loom)))]
pub(crate) use assembly::{load_wide_block, load16, transfer_line};
#[cfg(all(not(loom), any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64")))))]
pub(crate) use atomics::{copy, load, store, transfer};
#[cfg(loom)]
pub(crate) use plain::{copy, load, store, transfer};

#[cfg(test)]
mod tests;
