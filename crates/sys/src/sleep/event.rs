//! The event that wakes a rank that sleeps on descriptors, and the set of descriptors that it sleeps on.
//!
//! Owns both. An event stays rung until a sleep has ended with it, so a ring before the sleep is not lost.
//! Never says which descriptor ended a sleep: a woken sleeper checks everything.

#[cfg(not(loom))]
pub use kernel::{Event, EventError, Watch};
#[cfg(loom)]
pub use modelled::Event;

#[cfg(not(loom))]
mod kernel {
    use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
    use std::time::{Duration, Instant};

    use rustix::event::{EventfdFlags, eventfd};
    use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
    use rustix::io::{Errno, read, write};

    use crate::atomic::{AtomicU32, Ordering};
    use crate::poller::{Poller, Ready};

    /// The reason why a descriptor cannot wake a sleeper, or cannot be waited for.
    #[derive(Debug, thiserror::Error)]
    pub enum EventError {
        /// A peer sent a descriptor of another kind.
        #[error("the descriptor is a {0:?} and no eventfd")]
        NoEvent(FileType),
        /// The system refused.
        #[error("an event cannot be {what}: {source}")]
        System {
            /// The action that failed.
            what: &'static str,
            /// The system's error.
            source: Errno,
        },
    }

    fn refused(what: &'static str) -> impl Fn(Errno) -> EventError {
        move |source| EventError::System { what, source }
    }

    /// A descriptor that wakes its owner when any process rings it.
    #[derive(Debug)]
    pub struct Event(OwnedFd);

    impl Event {
        /// Creates an event of this process.
        ///
        /// # Errors
        /// Fails if no descriptor is left.
        pub fn create() -> Result<Self, EventError> {
            let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
            Ok(Self(eventfd(0, flags).map_err(refused("made"))?))
        }

        /// Takes over a peer's event. A descriptor of another kind is refused, because a ring must never
        /// block.
        ///
        /// # Errors
        /// Fails for a descriptor of another kind.
        pub fn adopt(descriptor: OwnedFd) -> Result<Self, EventError> {
            let status = fstat(&descriptor).map_err(refused("looked at"))?;
            // Files, pipes, sockets and devices have a type; an eventfd has none.
            match FileType::from_raw_mode(status.st_mode) {
                FileType::Unknown => {}
                other => return Err(EventError::NoEvent(other)),
            }
            let flags = fcntl_getfl(&descriptor).map_err(refused("looked at"))?;
            fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK).map_err(refused("made not to block"))?;
            Ok(Self(descriptor))
        }

        /// Wakes the owner, now or at its next sleep.
        pub fn ring(&self) {
            // This fails only when the count of rings is full.
            let _ = write(&self.0, &1u64.to_ne_bytes());
        }

        /// Returns the descriptor to hand to peers.
        pub fn fd(&self) -> BorrowedFd<'_> {
            self.0.as_fd()
        }
    }

    /// The token of a rank's own event.
    const EVENT: u64 = 0;
    /// The token of every other descriptor.
    const OTHER: u64 = 1;

    /// The descriptors that a rank sleeps on, its event among them.
    #[derive(Debug)]
    pub struct Watch {
        set: Poller,
        event: Event,
    }

    impl Watch {
        /// Creates a set that contains only an event of its own.
        ///
        /// # Errors
        /// Fails if no descriptor is left.
        pub fn open() -> Result<Self, EventError> {
            let event = Event::create()?;
            let set = Poller::new().map_err(refused("waited for"))?;
            set.add(&event.0, EVENT, Ready::IN).map_err(refused("waited for"))?;
            Ok(Self { set, event })
        }

        /// Returns the event that ends a sleep.
        pub fn event(&self) -> &Event {
            &self.event
        }

        /// Lets `descriptor` end one sleep, the next one in which it becomes `ready`; call it again for each
        /// sleep. A descriptor leaves the set when it is closed.
        ///
        /// # Errors
        /// Fails if the system cannot wait for it.
        pub fn once(&self, descriptor: BorrowedFd<'_>, ready: Ready) -> Result<(), EventError> {
            let ready = ready | Ready::ONESHOT;
            match self.set.change(descriptor, OTHER, ready) {
                Err(Errno::NOENT) => self.set.add(descriptor, OTHER, ready),
                other => other,
            }
            .map_err(refused("waited for"))
        }

        /// Sleeps until the event is rung, a descriptor is ready, the time is over or a nap has ended. The
        /// caller has announced [`WakeBy::Event`](super::super::WakeBy::Event).
        pub fn sleep(&self, word: &AtomicU32, at_most: Option<Duration>) {
            let (limit, is_nap) = super::super::limit(word.load(Ordering::Relaxed), at_most);
            let (mut rung, mut ready) = (false, false);
            let began = Instant::now();
            // A signal ends the sleep too; the sleeper checks again anyway.
            self.set.wait(limit, |found| {
                rung |= found.token == EVENT;
                ready = true;
            });
            if !is_nap || ready || limit.is_some_and(|limit| began.elapsed() < limit) {
                super::super::cancel(word);
            }
            self.take_ring(rung);
        }

        /// Clears rings of the event and ready descriptors, which would end the next sleep at once. Called
        /// in place of a sleep.
        pub fn clear(&self) {
            let mut rung = false;
            self.set.wait(Some(Duration::ZERO), |found| rung |= found.token == EVENT);
            self.take_ring(rung);
        }

        /// Returns the set of all descriptors that can end a sleep.
        pub(in super::super) fn set(&self) -> &Poller {
            &self.set
        }

        fn take_ring(&self, rung: bool) {
            if rung {
                let _ = read(&self.event.0, &mut [0; 8]);
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;
        use std::os::fd::AsFd;

        #[test]
        fn what_is_no_event_is_refused() {
            let file = std::fs::File::open("/proc/self/status").unwrap();
            let (pipe, _other) = rustix::pipe::pipe().unwrap();
            for other in [file.into(), pipe] {
                assert!(matches!(Event::adopt(other), Err(EventError::NoEvent(_))));
            }
            let event = Event::create().unwrap();
            Event::adopt(event.fd().try_clone_to_owned().unwrap()).unwrap();
        }

        /// An owner that fills the count of its event delays no process that wakes it.
        #[test]
        fn a_full_event_is_rung_without_waiting() {
            let (own, word) = (Watch::open().unwrap(), AtomicU32::new(0));
            let theirs = Event::adopt(own.event().fd().try_clone_to_owned().unwrap()).unwrap();
            write(own.event().fd(), &(u64::MAX - 1).to_ne_bytes()).unwrap();
            theirs.ring();
            own.sleep(&word, None);
            own.sleep(&word, Some(Duration::ZERO));
            theirs.ring();
            own.sleep(&word, None);
        }

        #[test]
        fn a_descriptor_ends_one_sleep_each_time_it_is_named() {
            let (watch, word) = (Watch::open().unwrap(), AtomicU32::new(0));
            let (reader, writer) = rustix::pipe::pipe().unwrap();
            write(&writer, &[1]).unwrap();
            let waiting = || {
                let mut count = 0;
                watch.set.wait(Some(Duration::ZERO), |_| count += 1);
                count
            };
            for _ in 0..3 {
                watch.once(reader.as_fd(), Ready::IN).unwrap();
                assert_eq!([waiting(), waiting()], [1, 0]);
            }
            watch.once(reader.as_fd(), Ready::IN).unwrap();
            watch.sleep(&word, None);
            drop(reader);
            assert_eq!(waiting(), 0, "what is closed is no longer waited for");
        }
    }
}

/// Models an event by a count with a condition variable without spurious wake-ups. A lost wake-up leaves a
/// sleeper at the end of the model, which loom reports as a deadlock.
#[cfg(loom)]
mod modelled {
    use loom::sync::{Condvar, Mutex};

    use crate::atomic::AtomicU32;

    /// A model of the kernel's event.
    #[derive(Default)]
    pub struct Event {
        count: Mutex<u64>,
        rung: Condvar,
    }

    impl Event {
        /// Wakes the owner, now or at its next sleep.
        pub fn ring(&self) {
            *self.count.lock().unwrap() += 1;
            self.rung.notify_one();
        }

        /// Sleeps until the event is rung.
        pub fn sleep(&self, word: &AtomicU32) {
            let mut count = self.count.lock().unwrap();
            while *count == 0 {
                count = self.rung.wait(count).unwrap();
            }
            drop(count);
            super::super::cancel(word);
            *self.count.lock().unwrap() = 0;
        }
    }
}
