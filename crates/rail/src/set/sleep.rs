//! How a rank sleeps on all its rails at once.
//!
//! A rank with networks sleeps on their descriptors and on its event, without the lock of the engine. A thread that comes in meanwhile and
//! takes something from a network takes with it what would have ended the sleep, so it wakes the sleeper (invariant I7). A rank
//! that got its networks after its peers got its inbox has no event that they know of: it sleeps on its word, and a thread on the descriptors.

use std::time::Duration;

use canele_sys::poller::Ready;

use super::Set;
use super::descriptor_watcher::DescriptorWatcher;
use crate::Network;
use crate::shm::Waker;

/// How long a rank sleeps at most whose sleep its networks do not end: the system refuses a thread that watches them, or a driver has no
/// descriptor.
const UNWATCHED_SLEEP: Duration = Duration::from_millis(1);

impl<N: Network> Set<N> {
    /// This rank's sleep.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Lets everything leave that peers may wait for, acknowledgements too, as before a sleep.
    pub fn send_pending(&mut self) {
        let now_ns = self.now_ns();
        for network in &mut self.networks {
            network.set_time(now_ns);
            let _ = network.arm();
        }
    }

    /// How long a sleep may last; for ever, unless an attempt to connect may time out.
    pub fn longest_sleep(&self) -> Option<Duration> {
        let are_watched = (self.waker.watches() || self.watcher.is_some())
            && self.networks.iter().all(|network| network.descriptor().is_some());
        let unwatched = (self.has_networks() && !are_watched).then_some(UNWATCHED_SLEEP);
        self.networks.iter().filter_map(Network::next_timeout).chain(unwatched).min()
    }

    /// The thread that slept is awake, though its word may say otherwise after a nap: waking it would end its next sleep at once.
    pub fn has_slept(&mut self) {
        self.armed = false;
    }

    /// Wakes the thread that sleeps on the descriptors, if one does: what it waits for may be gone from them.
    #[inline]
    pub(super) fn wake_sleeper(&mut self) {
        if std::mem::take(&mut self.armed) {
            self.waker.wake();
        }
    }

    /// Lets every network end the sleep that was announced; says whether all can that have a descriptor.
    pub(super) fn watch_networks(&mut self) -> bool {
        if self.has_networks() && !self.waker.watches() && self.watcher.is_none() {
            self.watcher = DescriptorWatcher::start(self.waker.clone(), &self.own_threads).ok();
        }
        let watch = |network: &N| {
            let Some(descriptor) = network.descriptor() else { return true };
            match &self.watcher {
                Some(watcher) => watcher.watch_once(descriptor).is_ok(),
                None => self.waker.watch_once(descriptor, Ready::IN).is_ok(),
            }
        };
        self.networks.iter().all(watch)
    }
}
