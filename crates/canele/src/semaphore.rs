//! Counting semaphores for the threads of one rank (DECK). They do not leave the process.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A number of permits that threads of this rank take and give back.
///
/// ```
/// use canele::Semaphore;
/// let done = Semaphore::new(0);
/// std::thread::scope(|threads| {
///     for _ in 0..3 {
///         threads.spawn(|| done.release(1));
///     }
///     (0..3).for_each(|_| done.acquire());
/// });
/// assert!(!done.try_acquire());
/// ```
#[derive(Debug)]
pub struct Semaphore {
    permits: Mutex<usize>,
    released: Condvar,
}

impl Semaphore {
    /// Makes a semaphore with `permits` permits.
    pub const fn new(permits: usize) -> Self {
        Self { permits: Mutex::new(permits), released: Condvar::new() }
    }

    fn permits(&self) -> MutexGuard<'_, usize> {
        // A panic cannot leave the number half changed.
        self.permits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a permit; sleeps until there is one.
    pub fn acquire(&self) {
        let permits = self.released.wait_while(self.permits(), |permits| *permits == 0);
        *permits.unwrap_or_else(PoisonError::into_inner) -= 1;
    }

    /// Takes a permit if there is one; returns true if it took one.
    pub fn try_acquire(&self) -> bool {
        let mut permits = self.permits();
        let any = *permits > 0;
        *permits -= usize::from(any);
        any
    }

    /// Takes a permit; sleeps until there is one, at most for `wait`. Returns true if it took one.
    pub fn acquire_deadline(&self, wait: Duration) -> bool {
        let Some(at) = Instant::now().checked_add(wait) else {
            self.acquire();
            return true;
        };
        let mut permits = self.permits();
        loop {
            if *permits > 0 {
                *permits -= 1;
                return true;
            }
            let left = at.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let waited = self.released.wait_timeout(permits, left);
            permits = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Adds `permits` permits, and wakes as many threads.
    ///
    /// # Panics
    /// Panics if the number of permits exceeds a `usize`.
    pub fn release(&self, permits: usize) {
        let mut now = self.permits();
        *now = now.checked_add(permits).expect("more permits than can be counted");
        drop(now);
        match permits {
            0 => {}
            1 => self.released.notify_one(),
            _ => self.released.notify_all(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use canele_sys::atomic::{AtomicUsize, Ordering};

    #[test]
    fn no_more_threads_are_inside_than_there_are_permits() {
        let (gate, inside, most) = (Semaphore::new(2), AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|threads| {
            for _ in 0..6 {
                threads.spawn(|| {
                    for _ in 0..200 {
                        gate.acquire();
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        gate.release(1);
                    }
                });
            }
        });
        assert!(most.into_inner() <= 2);
        assert!(gate.try_acquire() && gate.try_acquire() && !gate.try_acquire());
    }

    #[test]
    fn a_deadline_ends_the_wait_and_a_release_of_many_wakes_many() {
        let gate = Semaphore::new(0);
        assert!(!gate.acquire_deadline(Duration::from_millis(1)));
        std::thread::scope(|threads| {
            for _ in 0..3 {
                threads.spawn(|| assert!(gate.acquire_deadline(Duration::MAX)));
            }
            gate.release(4);
        });
        assert!(gate.acquire_deadline(Duration::ZERO), "one is left");
    }
}
