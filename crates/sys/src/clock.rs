//! The clock that stamps events.

/// Returns nanoseconds since some moment in the past, by the clock of `MPI_Wtime`.
///
/// The C library reads the clock, because only it finds the kernel's clock page in a program under valgrind.
pub fn monotonic_ns() -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to `now`, which lives until it returns; this clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_go_backwards() {
        let stamps = [(); 100].map(|()| monotonic_ns());
        assert!(stamps.is_sorted());
    }
}
