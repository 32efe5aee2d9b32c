//! A thread that sleeps on the descriptors of a rank's networks and wakes the rank when one is ready.
//!
//! Needed only for a rank that got its networks after its inbox was handed out. Its peers do not know its
//! event, so they wake it by its sleep word. A thread that sleeps on that word cannot also wait for a
//! descriptor. Owns the thread and the set of descriptors. Never reads a descriptor.

use std::os::fd::BorrowedFd;
use std::sync::Arc;

use canele_sys::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use canele_sys::poller::Ready;
use canele_sys::sleep::{AWAKE, EventError, Watch};

use crate::shm::Waker;

/// The thread that watches a rank's descriptors. It ends when this value is dropped.
pub(super) struct DescriptorWatcher {
    watch: Arc<Watch>,
    has_ended: Arc<AtomicBool>,
}

impl DescriptorWatcher {
    /// Starts the thread, and counts it in `own_threads` as one of the library.
    ///
    /// # Errors
    /// No descriptor or no thread is left.
    pub fn start(waker: Waker, own_threads: &AtomicUsize) -> Result<Self, std::io::Error> {
        let watch = Arc::new(Watch::open().map_err(std::io::Error::other)?);
        let has_ended = Arc::new(AtomicBool::new(false));
        let (watched, ended) = (watch.clone(), has_ended.clone());
        // The thread is counted before another thread can count threads.
        own_threads.fetch_add(1, Ordering::Relaxed);
        let started = std::thread::Builder::new().name("canele-networks".into()).spawn(move || {
            // The sleep word of the watched rank belongs to that rank: this thread announces nothing.
            let word = AtomicU32::new(AWAKE);
            // Relaxed: the event, rung after the store, orders it.
            while !ended.load(Ordering::Relaxed) {
                watched.sleep(&word, None);
                waker.wake();
            }
        });
        if let Err(error) = started {
            own_threads.fetch_sub(1, Ordering::Relaxed);
            return Err(error);
        }
        Ok(Self { watch, has_ended })
    }

    /// Lets a descriptor wake the rank the next time it is ready. Call it after the rank has announced its
    /// sleep: an earlier wake-up is lost.
    ///
    /// # Errors
    /// The system cannot wait for it.
    pub fn watch_once(&self, descriptor: BorrowedFd<'_>) -> Result<(), EventError> {
        self.watch.once(descriptor, Ready::IN)
    }
}

impl Drop for DescriptorWatcher {
    fn drop(&mut self) {
        // Relaxed, for the reason given at the load.
        self.has_ended.store(true, Ordering::Relaxed);
        self.watch.event().ring();
    }
}
