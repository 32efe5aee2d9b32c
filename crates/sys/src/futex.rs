//! Sleeping on a word, and waking threads of any process that sleep on it.
//!
//! The futexes are shared ones (not `FUTEX_PRIVATE_FLAG`), since the word usually lies in a segment that
//! several processes map. A return from [`wait`] promises nothing about the word: callers must check it
//! again.
//!
//! This module never spins, reads the word itself, or decides which thread must be woken.

#[cfg(not(loom))]
pub use kernel::{MOST_WORDS, wait, wait_on_any, wake};
#[cfg(loom)]
pub use modelled::{wait, wake};

/// The reason why [`wait`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// Another thread woke the word, a signal arrived, or nothing happened at all (spurious).
    Woken,
    /// The word did not hold the expected value, so the thread did not sleep.
    Changed,
    /// The time limit passed.
    TimedOut,
}

#[cfg(not(loom))]
mod kernel {
    use super::Waited;
    use crate::atomic::AtomicU32;
    use crate::clock;
    use rustix::fs::Timespec;
    use rustix::io::Errno;
    use rustix::thread::ClockId;
    use rustix::thread::futex::{self, Flags, Wait, WaitFlags, WaitPtr, WaitvFlags};
    use std::time::Duration;

    /// The number of words that one thread can sleep on.
    pub const MOST_WORDS: usize = 128;

    /// Sleeps while `word` holds `expected`, for at most `time` (`None`: for ever).
    ///
    /// # Panics
    /// Panics if the kernel refuses futexes, without which no rank could ever sleep.
    pub fn wait(word: &AtomicU32, expected: u32, time: Option<Duration>) -> Waited {
        // A duration that the kernel cannot express is longer than any run: no limit.
        let limit = time.and_then(|time| time.try_into().ok());
        match futex::wait(word, Flags::empty(), expected, limit.as_ref()) {
            Ok(()) | Err(Errno::INTR) => Waited::Woken,
            Err(Errno::AGAIN) => Waited::Changed,
            Err(Errno::TIMEDOUT) => Waited::TimedOut,
            Err(error) => panic!("futex wait failed: {error}"),
        }
    }

    /// Sleeps while each word holds the value beside it, for at most `time` (`None`: for ever). Returns none
    /// at once if the system cannot sleep on several words (Linux before 5.16, or a filter of system calls
    /// that does not know this one).
    ///
    /// # Panics
    /// Panics if there are more than [`MOST_WORDS`].
    pub fn wait_on_any(words: &[(&AtomicU32, u32)], time: Option<Duration>) -> Option<Waited> {
        assert!(words.len() <= MOST_WORDS, "{} words", words.len());
        let waits: Vec<Wait> = words.iter().map(|(word, expected)| wait_for(word, *expected)).collect();
        // A time that the clock cannot express is longer than any run: no limit.
        let until = time.and_then(|time| {
            let now = Timespec::try_from(Duration::from_nanos(clock::monotonic_ns())).ok()?;
            now.checked_add(Timespec::try_from(time).ok()?)
        });
        match futex::waitv(&waits, WaitvFlags::empty(), until.as_ref(), ClockId::Monotonic) {
            Ok(_) | Err(Errno::INTR) => Some(Waited::Woken),
            Err(Errno::AGAIN) => Some(Waited::Changed),
            Err(Errno::TIMEDOUT) => Some(Waited::TimedOut),
            Err(_) => None,
        }
    }

    fn wait_for(word: &AtomicU32, expected: u32) -> Wait {
        let mut wait = Wait::new();
        wait.val = expected.into();
        wait.uaddr = WaitPtr::new(word.as_ptr().cast());
        wait.flags = WaitFlags::SIZE_U32;
        wait
    }

    /// Wakes at most `count` sleepers; returns the number of woken sleepers.
    ///
    /// # Panics
    /// Panics if the kernel refuses futexes.
    pub fn wake(word: &AtomicU32, count: u32) -> u32 {
        // The kernel reads the count as a signed number.
        let count = count.min(i32::MAX as u32);
        match futex::wake(word, Flags::empty(), count) {
            Ok(woken) => woken as u32,
            Err(error) => panic!("futex wake failed: {error}"),
        }
    }
}

/// Models a word's sleepers by a condition variable without spurious wake-ups. A lost wake-up leaves a
/// sleeper at the end of the model, which loom reports as a deadlock.
#[cfg(loom)]
mod modelled {
    use super::Waited;
    use crate::atomic::{AtomicU32, Ordering, fence, thread};
    use loom::sync::{Arc, Condvar, Mutex};
    use std::collections::HashMap;
    use std::time::Duration;

    loom::lazy_static! {
        static ref SLEEPERS: Mutex<HashMap<usize, Arc<Condvar>>> = Mutex::new(HashMap::new());
    }

    /// Models a sleep with a limit by an immediate return.
    pub fn wait(word: &AtomicU32, expected: u32, time: Option<Duration>) -> Waited {
        // SeqCst: the kernel has a full barrier before it compares; pairs with the one in `wake`.
        fence(Ordering::SeqCst);
        let mut sleepers = SLEEPERS.lock().unwrap();
        if word.load(Ordering::Relaxed) != expected {
            return Waited::Changed;
        }
        if time.is_some() {
            drop(sleepers);
            thread::yield_now();
            return Waited::TimedOut;
        }
        let queue = sleepers.entry(address(word)).or_insert_with(|| Arc::new(Condvar::new()));
        let queue = Arc::clone(queue);
        drop(queue.wait(sleepers).unwrap());
        Waited::Woken
    }

    /// Wakes one sleeper or all of them, and does not count them.
    pub fn wake(word: &AtomicU32, count: u32) -> u32 {
        // SeqCst: pairs with the barrier in `wait`.
        fence(Ordering::SeqCst);
        let sleepers = SLEEPERS.lock().unwrap();
        match sleepers.get(&address(word)) {
            Some(queue) if count == 1 => queue.notify_one(),
            Some(queue) => queue.notify_all(),
            None => (),
        }
        0
    }

    fn address(word: &AtomicU32) -> usize {
        std::ptr::from_ref(word).addr()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::atomic::{AtomicU32, Ordering, thread};
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn a_word_that_differs_does_not_sleep() {
        assert_eq!(wait(&AtomicU32::new(1), 0, None), Waited::Changed);
    }

    #[test]
    fn time_runs_out() {
        assert_eq!(wait(&AtomicU32::new(0), 0, Some(Duration::from_millis(1))), Waited::TimedOut);
        assert_eq!(wait(&AtomicU32::new(0), 0, Some(Duration::ZERO)), Waited::TimedOut);
    }

    #[test]
    fn a_time_beyond_the_clock_is_no_limit() {
        assert_eq!(wait(&AtomicU32::new(1), 0, Some(Duration::MAX)), Waited::Changed);
    }

    #[test]
    fn waking_without_sleepers_counts_none() {
        assert_eq!(wake(&AtomicU32::new(0), u32::MAX), 0);
    }

    /// Checks nothing where the system cannot sleep on several words.
    #[test]
    fn a_sleep_on_several_words_ends_with_any_of_them() {
        let words: Arc<[AtomicU32; 3]> = Arc::default();
        let values = |expected: u32| words.iter().map(|word| (word, expected)).collect::<Vec<_>>();
        let short = Duration::from_millis(1);
        let Some(first) = wait_on_any(&values(0), Some(short)) else { return };
        assert_eq!(first, Waited::TimedOut);
        assert_eq!(wait_on_any(&values(0), Some(Duration::ZERO)), Some(Waited::TimedOut));
        words[1].store(1, Ordering::Relaxed);
        assert_eq!(wait_on_any(&values(0), Some(Duration::MAX)), Some(Waited::Changed));
        words[1].store(0, Ordering::Relaxed);
        for at in 0..3 {
            let waker = thread::spawn({
                let words = words.clone();
                move || {
                    // The sleep cannot be observed; the sleeper's end stops the wake-ups.
                    while words[at].load(Ordering::Acquire) == 0 {
                        wake(&words[at], 1);
                        thread::yield_now();
                    }
                }
            });
            assert_eq!(wait_on_any(&values(0), None), Some(Waited::Woken), "word {at}");
            words[at].store(1, Ordering::Release);
            waker.join().unwrap();
            words[at].store(0, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_sleeper_is_woken() {
        let word = Arc::new(AtomicU32::new(0));
        let sleeper = thread::spawn({
            let word = Arc::clone(&word);
            move || {
                // Acquire pairs with the release store below.
                while word.load(Ordering::Acquire) == 0 {
                    wait(&word, 0, None);
                }
            }
        });
        // The sleep cannot be observed, so this thread wakes once without the value (the sleeper must sleep
        // again) and once with it.
        wake(&word, 1);
        // Release pairs with the sleeper's acquire load.
        word.store(1, Ordering::Release);
        wake(&word, 1);
        sleeper.join().unwrap();
    }
}
