//! How a rank goes to sleep so that nobody's packet is overlooked, and how others wake it.
//!
//! ```text
//!   sleeper:  word = ASLEEP;  (wants = 1;)  heavy();        look again;  sleep while word is ASLEEP
//!   sender:   publish;                      Fencing::light; word ASLEEP?    then AWAKE and wake
//!   consumer: publish room;                 full fence;     wants 1?        then 0, and as a sender
//! ```
//! Either the sleeper's second look sees what was published, or the other sees the word. Two words of shared memory
//! belong to it: the sleeper's own, and one for each ring in which a producer says that it waits for room.
//!
//! What this module never does: look at what was published. Between [`announce`] (with the heavy barrier) and [`sleep`]
//! the sleeper looks at everything that anybody may wake it for.

use std::time::Duration;

use crate::atomic::{AtomicU32, Ordering};
use crate::futex;
use crate::membarrier::Fencing;

/// The owner of the word is awake.
pub const AWAKE: u32 = 0;
/// The owner sleeps, or is about to.
pub const ASLEEP: u32 = 1;

/// Announces sleep. A heavy barrier and a look at everything follow before [`sleep`].
pub fn announce(word: &AtomicU32) {
    // Relaxed: the heavy barrier orders it before the looks.
    word.store(ASLEEP, Ordering::Relaxed);
}

/// Takes the announcement back: the look found something.
pub fn cancel(word: &AtomicU32) {
    word.store(AWAKE, Ordering::Relaxed);
}

/// Sleeps until woken or the time is over; not at all if somebody woke the word meanwhile.
pub fn sleep(word: &AtomicU32, at_most: Option<Duration>) {
    futex::wait(word, ASLEEP, at_most);
    cancel(word);
}

/// Wakes the owner if it sleeps, after something was published for it. Says whether it did.
#[inline(always)]
pub fn wake_if_asleep(word: &AtomicU32, fencing: Fencing) -> bool {
    // Pairs with the heavy barrier after `announce`.
    fencing.light();
    word.load(Ordering::Relaxed) != AWAKE && wake(word)
}

#[cold]
fn wake(word: &AtomicU32) -> bool {
    // Relaxed suffices: the sleeper looks at everything else again after waking.
    if word.swap(AWAKE, Ordering::Relaxed) == AWAKE {
        return false;
    }
    futex::wake(word, 1);
    true
}

/// Between [`announce`] and the heavy barrier: asks the consumer of a ring to wake us when it gives room back.
pub fn ask_for_room(wants: &AtomicU32) {
    // Release pairs with the acquire in `wake_if_asked`: who takes the wish back sees us asleep. An exchange only because
    // the models do not know that nothing comes between the two halves of the other one.
    wants.swap(1, Ordering::Release);
}

/// Wakes the producer if it asked, after room was given back. The fence is a full one: this happens once in many packets.
pub fn wake_if_asked(wants: &AtomicU32, word: &AtomicU32) -> bool {
    // Pairs with the heavy barrier after `ask_for_room`.
    Fencing::Fences.light();
    if wants.load(Ordering::Relaxed) == 0 {
        return false;
    }
    // An exchange, and not a store: a wish made since the load would be erased unseen. Acquire pairs with the release
    // in `ask_for_room`.
    wants.swap(0, Ordering::Acquire);
    wake_if_asleep(word, Fencing::Fences)
}

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;
