//! The sleep of a rank, separate from the rail: other threads can use the rail while one sleeps here, and
//! wake it.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use canele_sys::membarrier::Fencing;
use canele_sys::poller::Ready;
use canele_sys::sleep::{self, EventError, Slept, Watch};

use super::inbox::Inbox;

/// The sleep of a rank.
///
/// The rail does not know why its owner is woken. The owner checks its reasons between
/// [`Rail::arm`](crate::Rail::arm) and the sleep. Either it sees the data stored before [`Waker::wake`], or
/// its sleep ends at once.
#[derive(Clone)]
pub struct Waker {
    pub(super) inbox: Inbox,
    pub(super) watch: Option<Arc<Watch>>,
}

impl Waker {
    /// Sleeps until it is woken, a descriptor is ready or the time is over. Allowed only after
    /// [`Rail::arm`](crate::Rail::arm) returned `Ready`.
    pub fn sleep(&self, at_most: Option<Duration>) {
        match &self.watch {
            Some(watch) => watch.sleep(self.inbox.sleep_word(), at_most),
            None => sleep::sleep(self.inbox.sleep_word(), at_most),
        }
    }

    /// Sleeps until this sleep or one of `others` would end, and returns the reason. Allowed only after
    /// [`Rail::arm`](crate::Rail::arm) returned `Ready` on all rails. Not supported if only some of them
    /// sleep on descriptors.
    pub fn sleep_with<'a>(
        &'a self,
        others: impl Iterator<Item = &'a Self>,
        at_most: Option<Duration>,
    ) -> Slept {
        let (mut words, mut watches) = (Vec::new(), Vec::new());
        for one in std::iter::once(self).chain(others) {
            match &one.watch {
                Some(watch) => watches.push((&**watch, one.inbox.sleep_word())),
                None => words.push(one.inbox.sleep_word()),
            }
        }
        match (words.is_empty(), watches.is_empty()) {
            (_, true) => sleep::sleep_on_any(&words, at_most),
            (true, _) => sleep::sleep_on_any_watch(&watches, at_most),
            _ => Slept::Unsupported,
        }
    }

    /// Revokes the announcement of a sleep and clears events that would end the next one at once. Afterwards
    /// peers do not wake another thread that sleeps here.
    pub fn disarm(&self) {
        sleep::cancel(self.inbox.sleep_word());
        if let Some(watch) = &self.watch {
            watch.clear();
        }
    }

    /// Wakes all threads that sleep here. Sleeps on descriptors need no extra call: their event stays set
    /// until it is cleared, so it wakes each of them.
    pub fn wake_all(&self) {
        if self.watch.is_none() {
            sleep::wake_all(self.inbox.sleep_word());
        }
    }

    /// Wakes the sleeper, if there is one, after data was stored for it.
    pub fn wake(&self) {
        let event = self.watch.as_ref().map(|watch| watch.event());
        sleep::wake_if_asleep(self.inbox.sleep_word(), Fencing::Fences, event);
    }

    /// Returns true if descriptors can end a sleep.
    pub fn watches(&self) -> bool {
        self.watch.is_some()
    }

    /// Lets `descriptor` end the next sleep in which it becomes `ready`. Call it again for each sleep. It has
    /// no effect for a rank that does not sleep on descriptors.
    ///
    /// # Errors
    /// The system cannot wait for the descriptor.
    pub fn watch_once(&self, descriptor: BorrowedFd<'_>, ready: Ready) -> Result<(), EventError> {
        self.watch.as_ref().map_or(Ok(()), |watch| watch.once(descriptor, ready))
    }
}
