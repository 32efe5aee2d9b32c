//! The sleep of a rank, apart from the rail: a thread sleeps here while others use the rail, and they can wake it.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use canele_sys::membarrier::Fencing;
use canele_sys::poller::Ready;
use canele_sys::sleep::{self, EventError, Slept, Watch};

use super::inbox::Inbox;

/// The sleep of a rank.
///
/// The rail does not know why its owner is woken: the owner looks for that between [`Rail::arm`](crate::Rail::arm) and the sleep.
/// Either it sees there what was stored before [`Waker::wake`], or its sleep ends at once.
#[derive(Clone)]
pub struct Waker {
    pub(super) inbox: Inbox,
    pub(super) watch: Option<Arc<Watch>>,
}

impl Waker {
    /// Sleeps until woken, a descriptor is ready or the time is over. Only after [`Rail::arm`](crate::Rail::arm) said that it may.
    pub fn sleep(&self, at_most: Option<Duration>) {
        match &self.watch {
            Some(watch) => watch.sleep(self.inbox.sleep_word(), at_most),
            None => sleep::sleep(self.inbox.sleep_word(), at_most),
        }
    }

    /// Sleeps until this sleep would end, or one of `others`; says how it ended. Only after all rails said that they may
    /// ([`Rail::arm`](crate::Rail::arm)). Not supported if some of them sleep on descriptors and others do not.
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

    /// Takes the announcement of a sleep back, and what would end the next one at once. Another thread that sleeps here is not woken by peers
    /// from then on.
    pub fn disarm(&self) {
        sleep::cancel(self.inbox.sleep_word());
        if let Some(watch) = &self.watch {
            watch.clear();
        }
    }

    /// Wakes all that sleep here, though others may have been woken in their place. What ends a sleep on descriptors stays until it is taken back, so
    /// each that sleeps on them is woken anyway.
    pub fn wake_all(&self) {
        if self.watch.is_none() {
            sleep::wake_all(self.inbox.sleep_word());
        }
    }

    /// Wakes the sleeper, if there is one, after something was stored for it.
    pub fn wake(&self) {
        let event = self.watch.as_ref().map(|watch| watch.event());
        sleep::wake_if_asleep(self.inbox.sleep_word(), Fencing::Fences, event);
    }

    /// True if descriptors can end a sleep.
    pub fn watches(&self) -> bool {
        self.watch.is_some()
    }

    /// Lets `descriptor` end the next sleep in which it becomes `ready`; to be said again for another. Without effect for
    /// a rank that does not sleep on descriptors.
    ///
    /// # Errors
    /// The system cannot wait for it.
    pub fn watch_once(&self, descriptor: BorrowedFd<'_>, ready: Ready) -> Result<(), EventError> {
        self.watch.as_ref().map_or(Ok(()), |watch| watch.once(descriptor, ready))
    }
}
