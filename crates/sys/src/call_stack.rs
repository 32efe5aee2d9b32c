//! The calling thread's stack: where each of its calls goes on.
//!
//! Owns the walk, which the compiler's runtime does by the unwind tables that every program has. Never names anything: that needs files,
//! and locks of the dynamic linker that a program may hold.

use std::ffi::{c_int, c_void};

unsafe extern "C" {
    fn _Unwind_Backtrace(
        trace: extern "C" fn(*mut c_void, *mut c_void) -> c_int,
        argument: *mut c_void,
    ) -> c_int;
    fn _Unwind_GetIP(context: *mut c_void) -> usize;
}

/// "Go on" and "stop" in the words of the unwinder.
const NO_REASON: c_int = 0;
const END_OF_STACK: c_int = 5;

/// Addresses found so far.
struct FoundFrames {
    addresses: Vec<u64>,
    most: usize,
}

/// The addresses at which the calls of this thread go on, this one's first; at most `most`.
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
