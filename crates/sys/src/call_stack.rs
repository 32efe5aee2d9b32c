//! The calling thread's stack: the return address of each of its calls.
//!
//! Owns the walk, which the compiler's runtime does by the unwind tables of the program. Never names a
//! function: that needs files, and locks of the dynamic linker that the program may hold.

use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn _Unwind_Backtrace(
        trace: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

/// The unwinder's codes for "go on" and "stop".
const NO_REASON: c_int = 0;
const END_OF_STACK: c_int = 5;

/// The addresses found so far.
struct FoundFrames {
    addresses: Vec<u64>,
    most: usize,
}

/// Returns the return addresses of this thread's calls, the innermost call first; at most `most`.
pub fn addresses(most: usize) -> Vec<u64> {
    let mut found = FoundFrames { addresses: Vec::with_capacity(most), most };
    // SAFETY: `add` gets `found`, which outlives the call, and nothing else refers to it meanwhile.
    unsafe { _Unwind_Backtrace(add, (&raw mut found).cast()) };
    found.addresses
}

/// Adds one frame.
extern "C" fn add(context: *mut c_void, found: *mut c_void) -> c_int {
    // SAFETY: it is what `addresses` gave, and alive.
    let found = unsafe { &mut *found.cast::<FoundFrames>() };
    if found.addresses.len() == found.most {
        return END_OF_STACK;
    }
    // SAFETY: the unwinder gave this context for this frame.
    let address = unsafe { _Unwind_GetIP(context) };
    if address != 0 {
        found.addresses.push(address as u64);
    }
    NO_REASON
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    #[inline(never)]
    fn below(most: usize) -> Vec<u64> {
        std::hint::black_box(addresses(most))
    }

    #[test]
    fn the_caller_is_among_the_frames_and_their_number_is_bounded() {
        let all = below(64);
        let near = |address: &u64| address.abs_diff(below as *const () as u64) < 4096;
        assert!(all.iter().any(near), "{all:x?}");
        assert_eq!(below(2).len(), 2);
    }
}
