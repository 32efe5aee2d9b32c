//! Accesses by relaxed atomics: by words where the shared side is aligned. Under miri they go by bytes only,
//! because miri refuses accesses of different sizes to one byte.

use canele_sys::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

/// Calls `word(offset)` for the aligned words of shared memory, and `one(offset)` for the bytes before and
/// after them.
fn each(shared: *const u8, len: usize, mut one: impl FnMut(usize), mut word: impl FnMut(usize)) {
    let head = if cfg!(miri) { len } else { shared.align_offset(8).min(len) };
    let words = (len - head) / 8;
    (0..head).for_each(&mut one);
    (0..words).for_each(|n| word(head + 8 * n));
    (head + 8 * words..len).for_each(one);
}

/// Copies from shared memory to memory of this thread.
///
/// # Safety
/// The conditions of [`std::ptr::copy_nonoverlapping`] apply, but others may access `from` meanwhile.
pub(crate) unsafe fn load(to: *mut u8, from: *const u8, len: usize) {
    let from = from.cast_mut();
    // SAFETY: the offsets are below `len`, words aligned and inside; both ranges by the caller's word.
    let one = |at| unsafe { to.add(at).write(AtomicU8::from_ptr(from.add(at)).load(Relaxed)) };
    // SAFETY: as above.
    let word = |at| unsafe {
        let value = AtomicU64::from_ptr(from.add(at).cast()).load(Relaxed);
        to.add(at).cast::<u64>().write_unaligned(value);
    };
    each(from, len, one, word);
}

/// Copies from memory of this thread to shared memory.
///
/// # Safety
/// The conditions of [`std::ptr::copy_nonoverlapping`] apply, but others may access `to` meanwhile.
pub(crate) unsafe fn store(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: as in `load`.
    let one = |at| unsafe { AtomicU8::from_ptr(to.add(at)).store(from.add(at).read(), Relaxed) };
    // SAFETY: as above.
    let word = |at| unsafe {
        let value = from.add(at).cast::<u64>().read_unaligned();
        AtomicU64::from_ptr(to.add(at).cast()).store(value, Relaxed);
    };
    each(to, len, one, word);
}

/// Bytes that a copy within shared memory stages at a time.
const STAGED: usize = 512;

/// Copies between two places of shared memory, which may overlap.
///
/// # Safety
/// The conditions of [`std::ptr::copy`] apply, but others may access both meanwhile.
pub(crate) unsafe fn transfer(to: *mut u8, from: *const u8, len: usize) {
    // If the target begins within the source, the copy starts at the end, so that no byte is overwritten
    // before it is copied.
    let from_the_end = to.addr().wrapping_sub(from.addr()) < len;
    let mut staged = [0; STAGED];
    let mut done = 0;
    while done < len {
        let n = (len - done).min(STAGED);
        let at = if from_the_end { len - done - n } else { done };
        // SAFETY: at + n <= len, and the ranges are the caller's; the array is this thread's alone.
        unsafe {
            load(staged.as_mut_ptr(), from.add(at), n);
            store(to.add(at), staged.as_ptr(), n);
        }
        done += n;
    }
}

/// Copies between two places that no other thread or process accesses meanwhile, which may overlap.
///
/// # Safety
/// The conditions of [`std::ptr::copy`] apply.
pub(crate) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the ranges are the caller's.
    unsafe { std::ptr::copy(from, to, len) }
}
