//! One sleep in place of several owners: on all their words, or on the descriptors of all.
//!
//! The sleeper announces each word as its owner would, and checks everything that may end each owner's sleep.
//! A waker wakes one sleeper of a word. If the owner also sleeps on it by then, the woken thread wakes the
//! owner ([`wake_all`](super::wake_all)).

use std::time::Duration;

use super::{AWAKE, Watch, limit};
use crate::atomic::{AtomicU32, Ordering};
use crate::futex::{self, Waited};
use crate::poller::Poller;

/// The way in which a sleep on several words ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Slept {
    /// A word was woken, or the time is over: the caller takes the announcements back.
    Ended,
    /// A nap is over: all words stay announced.
    Napped,
    /// The system cannot sleep on several words. No time has passed.
    Unsupported,
}

/// Sleeps until one of these words is woken, the time is over or a nap has ended. Returns at once if a word
/// was woken meanwhile. All words were announced for [`WakeBy::Futex`](super::WakeBy::Futex).
///
/// # Panics
/// Panics if there are more words than the system takes ([`futex::MOST_WORDS`]).
pub fn sleep_on_any(words: &[&AtomicU32], at_most: Option<Duration>) -> Slept {
    let announced: Vec<_> = words.iter().map(|word| (*word, word.load(Ordering::Relaxed))).collect();
    let Some((time, is_nap)) = limit_of_all(announced.iter().map(|(_, how)| *how), at_most) else {
        return Slept::Ended;
    };
    match futex::wait_on_any(&announced, time) {
        Some(Waited::TimedOut) if is_nap => Slept::Napped,
        Some(_) => Slept::Ended,
        None => Slept::Unsupported,
    }
}

/// Sleeps on the descriptors of several owners, whose words were announced for
/// [`WakeBy::Event`](super::WakeBy::Event). Ready descriptors and rung events stay so, until an owner that no
/// longer sleeps clears them ([`Watch::clear`]).
pub fn sleep_on_any_watch(owners: &[(&Watch, &AtomicU32)], at_most: Option<Duration>) -> Slept {
    let words = owners.iter().map(|(_, word)| word.load(Ordering::Relaxed));
    let Some((time, is_nap)) = limit_of_all(words, at_most) else { return Slept::Ended };
    let sets: Vec<_> = owners.iter().map(|(watch, _)| watch.set()).collect();
    match Poller::wait_for_any(&sets, time) {
        false if is_nap => Slept::Napped,
        _ => Slept::Ended,
    }
}

/// Returns the longest time that a sleep with all these words may last, and true if that is a nap; none if a
/// word was woken.
fn limit_of_all(
    mut words: impl Iterator<Item = u32>,
    at_most: Option<Duration>,
) -> Option<(Option<Duration>, bool)> {
    words.try_fold((at_most, false), |(time, is_nap), how| match how {
        AWAKE => None,
        _ if is_nap => Some((time, is_nap)),
        _ => Some(limit(how, at_most)),
    })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::thread;

    use super::super::{FOR_GOOD, NAP, WakeBy, announce, cancel, wake, wake_all};
    use super::*;
    use crate::membarrier::Fencing;
    use crate::poller::Ready;

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
                // Before the sleep or during it, either wake-up ends it.
                wake(&words[at], None);
                assert_ne!(sleeper.join().unwrap(), Slept::Napped);
            });
        }
    }

    /// Ready descriptors and rung events stay until an owner clears them; a nap changes nothing.
    #[test]
    fn any_event_or_descriptor_ends_a_sleep_on_several_sets() {
        let watches = [Watch::open().unwrap(), Watch::open().unwrap()];
        let words = [AtomicU32::new(AWAKE), AtomicU32::new(AWAKE)];
        let announce_all = |fencing| words.iter().for_each(|word| _ = announce(word, WakeBy::Event, fencing));
        let sleep =
            |at_most| sleep_on_any_watch(&[(&watches[0], &words[0]), (&watches[1], &words[1])], at_most);
        assert_eq!(sleep(None), Slept::Ended, "none is announced");
        announce_all(Fencing::Asymmetric);
        assert_eq!(sleep(None), Slept::Napped);
        announce_all(Fencing::Asymmetric);
        assert!(words.iter().all(|word| word.load(Ordering::Relaxed) & FOR_GOOD != 0));
        for at in [1, 0] {
            thread::scope(|scope| {
                let sleeper = scope.spawn(|| sleep(None));
                // Before the sleep or during it, either wake-up ends it.
                wake(&words[at], Some(watches[at].event()));
                assert_eq!(sleeper.join().unwrap(), Slept::Ended);
            });
            announce_all(Fencing::Fences);
            assert_eq!(sleep(None), Slept::Ended, "it is rung still");
            watches[at].clear();
            assert_eq!(sleep(NAP), Slept::Ended, "the time was over");
        }
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        watches[1].once(reader.as_fd(), Ready::IN).unwrap();
        rustix::io::write(&writer, &[1]).unwrap();
        assert_eq!(sleep(None), Slept::Ended);
        watches[1].clear();
        words.iter().for_each(cancel);
        announce_all(Fencing::Asymmetric);
        assert_eq!(sleep(None), Slept::Napped, "a descriptor ends one sleep");
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
