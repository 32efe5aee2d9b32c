//! Sleep of a rank without overlooked packets, and wake-ups by other ranks.
//!
//! ```text
//!   sleeper:  word = WakeBy;  (wants = 1;)  heavy();        check again;      sleep
//!   sender:   publish;                      Fencing::light; word not AWAKE?   set AWAKE, wake as it says
//!   consumer: publish room;                 full fence;     wants 1?          set 0, continue as a sender
//! ```
//! Either the sleeper's second look sees the published data, or the other side sees the word. The protocol
//! uses two words of shared memory: the sleeper's own, and one for each ring in which a producer says that it
//! waits for room.
//!
//! The word says how to wake its owner. With [`WakeBy::Futex`] the owner waits on the word itself
//! ([`sleep`]). With [`WakeBy::Event`] it waits for descriptors, its own event among them ([`Watch::sleep`]).
//! A late wake-up by event, after its sleep has ended, only shortens the next sleep.
//!
//! **The first sleep is a nap.** A kernel may leave out processors in a heavy barrier
//! ([`crate::membarrier`]), and then neither side sees the other. So a sleep that relies on such a barrier
//! lasts a millisecond at most, and the word stays announced. Long before the nap ends, every store that
//! preceded a load of the word has become visible. The sleeper announces itself again, looks again, and
//! sleeps for good.
//!
//! This module never checks the published data. Between [`announce`] (with the heavy barrier) and the sleep
//! the sleeper checks everything that another process may wake it for.

use std::time::Duration;

use crate::atomic::{AtomicU32, Ordering};
use crate::futex::{self, Waited};
use crate::membarrier::Fencing;

mod event;
#[cfg(not(loom))]
mod several;

pub use event::Event;
#[cfg(not(loom))]
pub use event::{EventError, Watch};
#[cfg(not(loom))]
pub use several::{Slept, sleep_on_any, sleep_on_any_watch};

/// The owner of the word is awake.
pub const AWAKE: u32 = 0;

/// The flag that a sleeper adds to the word if it needs no nap, or has had one.
const FOR_GOOD: u32 = 4;

/// The length of a nap: thousands of times as long as a store takes to become visible, and too rare to cost
/// anything. In a model all barriers are complete.
const NAP: Option<Duration> = if cfg!(loom) { None } else { Some(Duration::from_millis(1)) };

/// The way to wake a sleeper. Its word holds the number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum WakeBy {
    /// By the word itself: the owner sleeps in [`sleep`].
    Futex = 1,
    /// By its [`Event`]: the owner sleeps in [`Watch::sleep`].
    Event = 2,
}

/// Announces a sleep towards senders that order as `fencing` says. The caller then issues the heavy barrier
/// of the result and checks everything before it sleeps.
#[must_use]
pub fn announce(word: &AtomicU32, by: WakeBy, fencing: Fencing) -> Fencing {
    let (nap, for_good) = (by as u32, by as u32 | FOR_GOOD);
    let has_napped = || {
        let before = word.compare_exchange(nap, for_good, Ordering::Relaxed, Ordering::Relaxed);
        // If the word was announced for good, the last nap was on another word.
        before.is_ok() || before == Err(for_good)
    };
    // Relaxed: the heavy barrier orders it before the checks. It is an exchange only because the models do
    // not know that nothing comes between the two halves of the exchange in `wake`.
    match fencing {
        Fencing::Asymmetric if has_napped() => return Fencing::Fences,
        Fencing::Asymmetric => word.swap(nap, Ordering::Relaxed),
        Fencing::Fences => word.swap(for_good, Ordering::Relaxed),
    };
    fencing
}

/// Takes the announcement back, after a check found something.
pub fn cancel(word: &AtomicU32) {
    word.store(AWAKE, Ordering::Relaxed);
}

/// Sleeps until woken, the time is over or a nap has ended; returns at once if the word was woken meanwhile.
/// The caller has announced [`WakeBy::Futex`].
pub fn sleep(word: &AtomicU32, at_most: Option<Duration>) {
    let how = word.load(Ordering::Relaxed);
    if how == AWAKE {
        return;
    }
    let (limit, is_nap) = limit(how, at_most);
    let waited = futex::wait(word, how, limit);
    if !(is_nap && waited == Waited::TimedOut) {
        cancel(word);
    }
}

/// Returns the longest time that a sleep with this word may last, and true if that is a nap.
fn limit(how: u32, at_most: Option<Duration>) -> (Option<Duration>, bool) {
    match NAP {
        Some(nap) if how != AWAKE && how & FOR_GOOD == 0 && at_most.is_none_or(|time| time > nap) => {
            (NAP, true)
        }
        _ => (at_most, false),
    }
}

/// Wakes the owner if it sleeps, after something was published for it; returns true if it slept. `event` is
/// the owner's, if it has one.
#[inline(always)]
pub fn wake_if_asleep(word: &AtomicU32, fencing: Fencing, event: Option<&Event>) -> bool {
    is_asleep(word, fencing) && wake(word, event)
}

/// Returns true if the owner sleeps and needs a [`wake`], after something was published for it.
#[inline(always)]
pub fn is_asleep(word: &AtomicU32, fencing: Fencing) -> bool {
    // Pairs with the heavy barrier after `announce`.
    fencing.light();
    word.load(Ordering::Relaxed) != AWAKE
}

/// Wakes the owner if it sleeps; returns true if it did. `event` is the owner's, if it has one.
#[cold]
pub fn wake(word: &AtomicU32, event: Option<&Event>) -> bool {
    // Relaxed suffices: the sleeper checks everything again after waking.
    let was = word.swap(AWAKE, Ordering::Relaxed);
    if was == AWAKE {
        return false;
    }
    match event {
        Some(event) if was & !FOR_GOOD == WakeBy::Event as u32 => event.ring(),
        // A word other than those two is its owner's mistake, and harms its owner alone.
        _ => drop(futex::wake(word, 1)),
    }
    true
}

/// Wakes all threads that sleep on the word, including one whose wake-up went to another sleeper.
#[cold]
pub fn wake_all(word: &AtomicU32) {
    word.store(AWAKE, Ordering::Relaxed);
    futex::wake(word, u32::MAX);
}

/// Asks the consumer of a ring to wake this rank when room is given back. Called between [`announce`] and its
/// heavy barrier.
pub fn ask_for_room(wants: &AtomicU32) {
    // Release pairs with the acquire in `wake_if_asked`: a consumer that takes the request sees this rank
    // asleep. It is an exchange only because the models do not know that nothing comes between the two halves
    // of the other one.
    wants.swap(1, Ordering::Release);
}

/// Wakes the producer if it asked, after room was given back. The fence is a full one: this happens once in
/// many packets.
pub fn wake_if_asked(wants: &AtomicU32, word: &AtomicU32, event: Option<&Event>) -> bool {
    // Pairs with the heavy barrier after `ask_for_room`.
    Fencing::Fences.light();
    if wants.load(Ordering::Relaxed) == 0 {
        return false;
    }
    // This is an exchange, not a store, which would erase a request made since the load. Acquire pairs with
    // the release in `ask_for_room`.
    wants.swap(0, Ordering::Acquire);
    wake_if_asleep(word, Fencing::Fences, event)
}

#[cfg(all(test, loom))]
mod lane_models;
#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;
