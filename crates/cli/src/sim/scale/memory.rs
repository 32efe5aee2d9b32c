//! How much memory something takes, where the command was built to count it (feature `memory`).
//!
//! Owns nothing. The counter stands in the way of every allocation of the process, so it is not part of the usual command.

/// Runs `change`, and returns by how many bytes what is allocated has grown or shrunk; none where allocations are not counted.
pub fn change_of(change: impl FnOnce()) -> Option<u64> {
    #[cfg(feature = "memory")]
    return Some(allocation_counter::measure(change).bytes_current.unsigned_abs());
    #[cfg(not(feature = "memory"))]
    {
        change();
        None
    }
}
