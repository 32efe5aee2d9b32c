//! How a rank goes to sleep so that no packet is overlooked, and how others wake it.
//!
//! ```text
//!   sleeper:  word = how I sleep;  (wants = 1;)  heavy();        look again;    sleep
//!   sender:   publish;                           Fencing::light; word not AWAKE?  then AWAKE, and wake as the word said
//!   consumer: publish room;                      full fence;     wants 1?         then 0, and as a sender
//! ```
//! Either the sleeper's second look sees what was published, or the other sees the word. Two words of shared memory
//! belong to it: the sleeper's own, and one for each ring in which a producer says that it waits for room.
//!
//! The word says how to wake its owner: [`WakeBy::Futex`], who waits on the word itself ([`sleep`]), or [`WakeBy::Event`], who
//! waits for descriptors, its own event among them ([`Watch::sleep`]). A wake-up by event that comes late, after its
//! sleep has ended, only makes the next sleep a short one.
//!
//! **The first sleep is a nap.** A kernel may leave out processors in a heavy barrier ([`crate::membarrier`]), and then neither sees the
//! other. So a sleep that relies on such a barrier lasts a millisecond at most, and the word stays announced behind it. Long before its end
//! whatever was stored before the word was seen has become visible. The sleeper announces itself again, looks again, and sleeps for good.
//!
//! What this module never does: look at what was published. Between [`announce`] (with the heavy barrier) and the sleep
//! the sleeper looks at everything that another process may wake it for.

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

/// Added to the word by a sleeper that needs no nap, or has had it.
const FOR_GOOD: u32 = 4;

/// How long a nap lasts: thousands of times as long as a store takes to become visible, and too seldom to cost anything. In a model all
/// barriers are whole.
const NAP: Option<Duration> = if cfg!(loom) { None } else { Some(Duration::from_millis(1)) };

/// How a sleeper is to be woken. Its word holds the number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum WakeBy {
    /// The word itself: it sleeps in [`sleep`].
    Futex = 1,
    /// Its [`Event`]: it sleeps in [`Watch::sleep`].
    Event = 2,
}

/// Announces sleep where senders order as `fencing` says. The heavy barrier of the result and a look at everything follow
/// before the sleep itself.
#[must_use]
pub fn announce(word: &AtomicU32, by: WakeBy, fencing: Fencing) -> Fencing {
    let (nap, for_good) = (by as u32, by as u32 | FOR_GOOD);
    let has_napped = || {
        let before = word.compare_exchange(nap, for_good, Ordering::Relaxed, Ordering::Relaxed);
        // Announced for good, it was only another word for which the last sleep was a nap.
        before.is_ok() || before == Err(for_good)
    };
    // Relaxed: the heavy barrier orders it before the looks. An exchange only because the models do not know that nothing
    // comes between the two halves of that in `wake`.
    match fencing {
        Fencing::Asymmetric if has_napped() => return Fencing::Fences,
        Fencing::Asymmetric => word.swap(nap, Ordering::Relaxed),
        Fencing::Fences => word.swap(for_good, Ordering::Relaxed),
    };
    fencing
}

/// Takes the announcement back: the look found something.
pub fn cancel(word: &AtomicU32) {
    word.store(AWAKE, Ordering::Relaxed);
}

/// Sleeps until woken, the time is over or a nap has ended; not at all if the word was woken meanwhile. After an announcement
/// of [`WakeBy::Futex`].
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

/// How long a sleep with this word may last, and whether that is a nap.
fn limit(how: u32, at_most: Option<Duration>) -> (Option<Duration>, bool) {
    match NAP {
        Some(nap) if how != AWAKE && how & FOR_GOOD == 0 && at_most.is_none_or(|time| time > nap) => {
            (NAP, true)
        }
        _ => (at_most, false),
    }
}

/// Wakes the owner if it sleeps, after something was published for it. Says whether it did. `event` is the owner's, if it
/// has one.
#[inline(always)]
pub fn wake_if_asleep(word: &AtomicU32, fencing: Fencing, event: Option<&Event>) -> bool {
    is_asleep(word, fencing) && wake(word, event)
}

/// True if the owner sleeps and is to be woken by [`wake`], after something was published for it.
#[inline(always)]
pub fn is_asleep(word: &AtomicU32, fencing: Fencing) -> bool {
    // Pairs with the heavy barrier after `announce`.
    fencing.light();
    word.load(Ordering::Relaxed) != AWAKE
}

/// Wakes the owner if it sleeps; says whether it did. `event` is the owner's, if it has one.
#[cold]
pub fn wake(word: &AtomicU32, event: Option<&Event>) -> bool {
    // Relaxed suffices: the sleeper looks at everything else again after waking.
    let was = word.swap(AWAKE, Ordering::Relaxed);
    if was == AWAKE {
        return false;
    }
    match event {
        Some(event) if was & !FOR_GOOD == WakeBy::Event as u32 => event.ring(),
        // Another word than those two is its owner's mistake, and costs its owner alone.
        _ => drop(futex::wake(word, 1)),
    }
    true
}

/// Wakes all that sleep on the word, also those of which another one was woken in their place.
#[cold]
pub fn wake_all(word: &AtomicU32) {
    word.store(AWAKE, Ordering::Relaxed);
    futex::wake(word, u32::MAX);
}

/// Between [`announce`] and its heavy barrier: asks the consumer of a ring to wake us when it gives room back.
pub fn ask_for_room(wants: &AtomicU32) {
    // Release pairs with the acquire in `wake_if_asked`: who takes the wish back sees us asleep. An exchange only because
    // the models do not know that nothing comes between the two halves of the other one.
    wants.swap(1, Ordering::Release);
}

/// Wakes the producer if it asked, after room was given back. The fence is a full one: this happens once in many packets.
pub fn wake_if_asked(wants: &AtomicU32, word: &AtomicU32, event: Option<&Event>) -> bool {
    // Pairs with the heavy barrier after `ask_for_room`.
    Fencing::Fences.light();
    if wants.load(Ordering::Relaxed) == 0 {
        return false;
    }
    // An exchange, and not a store: a wish made since the load would be erased unseen. Acquire pairs with the release
    // in `ask_for_room`.
    wants.swap(0, Ordering::Acquire);
    wake_if_asleep(word, Fencing::Fences, event)
}

#[cfg(all(test, loom))]
mod lane_models;
#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;
