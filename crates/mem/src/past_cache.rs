//! Copies past the caches, by stores that go to memory without bringing their lines into this processor's
//! cache.
//!
//! Between processors without a common cache, a line in the other's cache arrives at a few bytes per
//! nanosecond. A line in memory arrives many times faster. With a common cache it is the opposite, so measure
//! before use. On aarch64 such a store is a hint (`stnp`), which a processor may treat as an ordinary store.

use crate::racing;

/// Copies `len` bytes from memory of this thread to shared memory. The stores become visible before any store
/// that follows.
///
/// # Safety
/// The conditions of [`racing::store`] apply.
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: as the caller says.
    #[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri), not(loom)))]
    unsafe {
        transfer(to, from, len)
    }
    // SAFETY: as the caller says. There is no such store here.
    #[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri), not(loom))))]
    unsafe {
        racing::store(to, from, len)
    }
}

/// Copies `len` bytes like [`copy`]; others may access `from` too.
///
/// # Safety
/// The conditions of [`racing::transfer`] apply; also, the ranges do not overlap.
#[cfg(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri), not(loom)))]
#[inline(never)]
pub(crate) unsafe fn transfer(to: *mut u8, from: *const u8, len: usize) {
    const LINE: usize = 64;
    #[cfg(test)]
    COPIES.set(COPIES.get() + 1);
    let head = to.align_offset(LINE).min(len);
    let lines = (len - head) / LINE;
    // SAFETY: head + 64 * lines <= len, so every access lies in the ranges the caller vouches for; stores to `to + head` and
    // behind it are aligned to 64 bytes; every processor of this kind has the instructions.
    unsafe {
        racing::transfer(to, from, head);
        let (mut source, mut target) = (from.add(head), to.add(head));
        for _ in 0..lines {
            racing::stream_line(target, source);
            (source, target) = (source.add(LINE), target.add(LINE));
        }
        racing::transfer(target, source, len - head - lines * LINE);
    }
    order_streamed_stores();
}

/// Orders streamed stores before the stores that follow. On x86-64 a release does not order them, so a fence
/// of their own is needed.
#[cfg(all(target_arch = "x86_64", not(miri), not(loom)))]
fn order_streamed_stores() {
    // SAFETY: a store fence has no operands and every x86-64 processor has it.
    unsafe { std::arch::x86_64::_mm_sfence() }
}

/// Orders streamed stores before the stores that follow. On aarch64 barriers and releases order them like
/// other stores.
#[cfg(all(target_arch = "aarch64", not(miri), not(loom)))]
fn order_streamed_stores() {
    // Pairs with the acquire of the rank that reads the next published word.
    canele_sys::atomic::fence(canele_sys::atomic::Ordering::Release);
}

/// Copies in the ordinary way, on processors without such a store.
///
/// # Safety
/// The conditions of [`racing::transfer`] apply.
#[cfg(not(all(any(target_arch = "x86_64", target_arch = "aarch64"), not(miri), not(loom))))]
pub(crate) unsafe fn transfer(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: as the caller says.
    unsafe { racing::transfer(to, from, len) }
}

#[cfg(all(test, any(target_arch = "x86_64", target_arch = "aarch64"), not(miri)))]
thread_local! {
    /// Number of copies of this thread that went past the caches.
    pub(crate) static COPIES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_length_at_every_alignment_is_copied_exactly() {
        let source: Vec<u8> = (0..600u32).map(|n| (n * 7) as u8 ^ 0x5a).collect();
        for (skew, len) in (0..64).flat_map(|skew| [0, 1, 63, 64, 65, 200, 400].map(|len| (skew, len))) {
            let mut memory = vec![0xeeu8; 600];
            // SAFETY: both ranges lie within their vectors, which do not overlap.
            unsafe { super::copy(memory.as_mut_ptr().add(skew), source.as_ptr().add(skew / 3), len) };
            assert_eq!(&memory[skew..skew + len], &source[skew / 3..skew / 3 + len], "{skew} {len}");
            let outside = memory[..skew].iter().chain(&memory[skew + len..]);
            assert!(outside.into_iter().all(|byte| *byte == 0xee), "{skew} {len} spilled");
        }
    }
}
