//! The sleep of a rank on all its rails at once.
//!
//! A rank with networks sleeps on their descriptors and on its event, without the lock of the engine. Another
//! thread that enters meanwhile may take the event that would have ended the sleep, so it wakes the sleeper
//! (invariant I7). A rank that got its networks after its inbox was handed out has no event that peers know.
//! It sleeps on its word, and a thread sleeps on the descriptors.

use std::time::Duration;

use canele_sys::poller::Ready;

use super::Set;
use super::descriptor_watcher::DescriptorWatcher;
use crate::Network;
use crate::shm::Waker;

/// The longest sleep of a rank whose networks cannot wake it, because the system refuses the watching thread
/// or a driver has no descriptor.
const UNWATCHED_SLEEP: Duration = Duration::from_millis(1);

impl<N: Network> Set<N> {
    /// Returns this rank's waker.
    pub fn waker(&self) -> Waker {
        self.waker.clone()
    }

    /// Sends everything that peers may wait for, including acknowledgements, as before a sleep.
    pub fn send_pending(&mut self) {
        let now_ns = self.now_ns();
        for network in &mut self.networks {
            network.set_time(now_ns);
            let _ = network.arm();
        }
    }

    /// Returns the longest time a sleep may last; `None` means no limit, unless an attempt to connect may
    /// time out.
    pub fn longest_sleep(&self) -> Option<Duration> {
        let are_watched = (self.waker.watches() || self.watcher.is_some())
            && self.networks.iter().all(|network| network.descriptor().is_some());
        let unwatched = (self.has_networks() && !are_watched).then_some(UNWATCHED_SLEEP);
        self.networks.iter().filter_map(Network::next_timeout).chain(unwatched).min()
    }

    /// Notes that the sleeping thread is awake, though its word may say otherwise after a nap. Waking it
    /// would end its next sleep at once.
    pub fn has_slept(&mut self) {
        self.armed = false;
    }

    /// Wakes the thread that sleeps on the descriptors, if there is one: its event may be taken already.
    #[inline]
    pub(super) fn wake_sleeper(&mut self) {
        if std::mem::take(&mut self.armed) {
            self.waker.wake();
        }
    }

    /// Lets every network end the announced sleep. Returns true if each network with a descriptor can.
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
