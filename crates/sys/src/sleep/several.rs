//! One sleep on the words of several owners.
//!
//! The sleeper announces each word as its owner would, and looks at everything that may end each owner's sleep. A waker wakes one sleeper of
//! a word: if the owner sleeps on it by now, too, it is for the one that was woken to wake the owner ([`wake_all`](super::wake_all)).

use std::time::Duration;

use super::{AWAKE, limit};
use crate::atomic::{AtomicU32, Ordering};
use crate::futex::{self, Waited};

/// How a sleep on several words ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slept {
    /// A word was woken, or the time is over: what was announced is to be taken back.
    Ended,
    /// It was a nap, and is over: all words stay announced.
    Napped,
    /// The system cannot sleep on several words. No time has passed.
    Unsupported,
}

/// Sleeps until one of these words is woken, the time is over or a nap has ended; not at all if one was woken meanwhile. All were announced for
/// [`WakeBy::Futex`](super::WakeBy::Futex).
///
/// # Panics
/// If there are more words than the system takes ([`futex::MOST_WORDS`]).
pub fn sleep_on_any(words: &[&AtomicU32], at_most: Option<Duration>) -> Slept {
    let announced: Vec<_> = words.iter().map(|word| (*word, word.load(Ordering::Relaxed))).collect();
    if announced.iter().any(|(_, how)| *how == AWAKE) {
        return Slept::Ended;
    }
    let limits = announced.iter().map(|(_, how)| limit(*how, at_most));
    let (time, is_nap) =
        limits.reduce(|one, other| if one.1 { one } else { other }).unwrap_or((at_most, false));
    match futex::wait_on_any(&announced, time) {
        Some(Waited::TimedOut) if is_nap => Slept::Napped,
        Some(_) => Slept::Ended,
        None => Slept::Unsupported,
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::super::{FOR_GOOD, NAP, WakeBy, announce, wake, wake_all};
    use super::*;
    use crate::membarrier::Fencing;

    fn announced(fencing: Fencing) -> [AtomicU32; 2] {
        let words = [AtomicU32::new(AWAKE), AtomicU32::new(AWAKE)];
        words.iter().for_each(|word| _ = announce(word, WakeBy::Futex, fencing));
        words
    }

    #[test]
    fn one_word_without_a_nap_behind_it_makes_the_sleep_a_nap() {
        let [first, second] = announced(Fencing::Asymmetric);
        first.store(WakeBy::Futex as u32 | FOR_GOOD, Ordering::Relaxed);
        let slept = sleep_on_any(&[&first, &second], None);
        if slept == Slept::Unsupported {
            return;
        }
        assert_eq!(slept, Slept::Napped);
        assert_eq!(second.load(Ordering::Relaxed), WakeBy::Futex as u32, "it stays announced");
        assert_eq!(sleep_on_any(&[&first, &second], NAP), Slept::Ended, "the time was over");
    }

    #[test]
    fn a_word_that_was_woken_before_ends_it() {
        let [first, second] = announced(Fencing::Fences);
        wake(&second, None);
        assert_eq!(sleep_on_any(&[&first, &second], None), Slept::Ended);
        assert_eq!(first.load(Ordering::Relaxed), WakeBy::Futex as u32 | FOR_GOOD);
    }

    #[test]
    fn any_word_ends_it() {
        for at in 0..2 {
            let words = announced(Fencing::Fences);
            thread::scope(|scope| {
                let sleeper = scope.spawn(|| sleep_on_any(&[&words[0], &words[1]], None));
                // Before the sleep or in it, either ends it.
                wake(&words[at], None);
                assert_ne!(sleeper.join().unwrap(), Slept::Napped);
            });
        }
    }

    #[test]
    fn all_that_sleep_on_a_word_can_be_woken() {
        let word = AtomicU32::new(AWAKE);
        let _ = announce(&word, WakeBy::Futex, Fencing::Fences);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| sleep_on_any(&[&word], None));
            }
            wake_all(&word);
        });
    }
}
