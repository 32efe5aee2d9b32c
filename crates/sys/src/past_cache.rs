//! Copying past the caches: stores that go to memory without bringing the lines they fill into this processor's cache.
//!
//! Where two processors share no cache, a line that the other one holds comes at a few bytes a nanosecond; one that lies in
//! memory comes many times faster. Where they do share one it is the other way round: measure before this is used.

/// Copies `len` bytes, whose stores are visible to others before any store that follows.
///
/// # Safety
/// As [`std::ptr::copy_nonoverlapping`].
#[cfg(target_arch = "x86_64")]
#[inline(never)]
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
    const LINE: usize = 64;
    let head = to.align_offset(LINE).min(len);
    let lines = (len - head) / LINE;
    // SAFETY: head + 64 * lines <= len, so every access lies in the ranges the caller vouches for; stores to `to + head` and
    // behind it are aligned to 64 bytes; the instructions are part of every x86-64 processor.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, head);
        let (mut source, mut target) = (from.add(head), to.add(head));
        for _ in 0..lines {
            let part = |n: usize| _mm_loadu_si128(source.cast::<__m128i>().add(n));
            let line = [part(0), part(1), part(2), part(3)];
            for (n, part) in line.into_iter().enumerate() {
                _mm_stream_si128(target.cast::<__m128i>().add(n), part);
            }
            (source, target) = (source.add(LINE), target.add(LINE));
        }
        std::ptr::copy_nonoverlapping(source, target, len - head - lines * LINE);
        // Such stores are not ordered with others.
        _mm_sfence();
    }
}

/// The same where there is no such store: an ordinary copy.
///
/// # Safety
/// As [`std::ptr::copy_nonoverlapping`].
#[cfg(not(target_arch = "x86_64"))]
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: as the caller says.
    unsafe { std::ptr::copy_nonoverlapping(from, to, len) }
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
