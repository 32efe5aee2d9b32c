//! Measures memory, if the command was built to count it (feature `memory`).
//!
//! Owns nothing. The counter slows down every allocation of the process, so it is not part of the usual
//! command.

/// Runs `change`, and returns the change of the allocated bytes; none if allocations are not counted.
pub fn change_of(change: impl FnOnce()) -> Option<u64> {
    #[cfg(feature = "memory")]
    return Some(allocation_counter::measure(change).bytes_current.unsigned_abs());
    #[cfg(not(feature = "memory"))]
    {
        change();
        None
    }
}
