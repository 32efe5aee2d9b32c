//! The clock by which events are stamped.

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since some moment in the past, by the clock of `MPI_Wtime`.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
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
