//! A block of memory for each thread, which a library finds without a call of the loader.
//!
//! The library owns the contents: it sets the address in each thread that needs a block, and clears it before
//! it frees the block. The block of any other thread has zeros and is never written.

/// The address of a thread's block.
mod word {
    use super::ZEROS;

    crate::thread_word::thread_word!(*const u8, "canele_thread_block", sym ZEROS, (&raw const ZEROS).cast());
}

/// The size in bytes of the zero block of a thread that has set none.
pub const BYTES: usize = 16 << 10;

#[repr(align(256))]
struct Zeros {
    _bytes: [u8; BYTES],
}

static ZEROS: Zeros = Zeros { _bytes: [0; BYTES] };

/// Returns the address of this thread's block, aligned to 256 bytes.
#[inline(always)]
pub fn get() -> *const u8 {
    word::get()
}

/// Sets the address of this thread's block, which is aligned to 256 bytes and has at least [`BYTES`]. It
/// stays until it is set again.
pub fn set(block: *const u8) {
    debug_assert!(block.addr().is_multiple_of(align_of::<Zeros>()));
    word::set(block);
}

/// Gives this thread the block of zeros, as at its start.
pub fn clear() {
    word::set((&raw const ZEROS).cast());
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_zeros_until_it_sets_a_block_of_its_own() {
        // SAFETY: a block has so many bytes, and no thread writes to the two of this test meanwhile.
        let first = || unsafe { *get() };
        let own = Box::new(Zeros { _bytes: [7; BYTES] });
        assert_eq!(first(), 0);
        set((&raw const *own).cast());
        assert_eq!((get(), first()), ((&raw const *own).cast(), 7));
        let other = std::thread::spawn(move || (get().addr(), first()));
        assert_eq!(other.join().unwrap(), ((&raw const ZEROS).addr(), 0));
        clear();
        assert_eq!(first(), 0);
    }
}
