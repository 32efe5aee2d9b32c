//! The sleeping threads of a rank, and the one that watches the lanes that no thread looks after.
//!
//! A thread sleeps on its lane. One of the sleeping threads, the *watcher*, receives for lanes whose threads
//! compute. While threads come and go on other lanes it wakes now and then. Once nothing has happened on them
//! it sleeps without an end, on the lanes without a thread, too. The next thread that wakes on another lane
//! ends that, as its lane may have no thread afterwards. A watcher whose wait ends gives the watch to another
//! sleeping thread.

use super::LaneSet;

/// The sleeping threads of a rank, by their lanes.
#[derive(Default, Debug)]
pub(super) struct Watch {
    sleeping: LaneSet,
    watcher: Option<u8>,
    /// True while the watcher sleeps until a change.
    is_for_good: bool,
    /// The number of changes that end such a sleep.
    changes: u64,
}

/// The role of a thread in its sleep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// The thread sleeps.
    Sleeper,
    /// The thread watches, too. The number is the count of changes before.
    Watcher(u64),
}

impl Watch {
    /// Notes that the thread of this lane is about to sleep; returns its role.
    pub fn begin(&mut self, lane: u8) -> Role {
        self.sleeping.add(lane);
        match *self.watcher.get_or_insert(lane) {
            watcher if watcher == lane => Role::Watcher(self.changes),
            _ => Role::Sleeper,
        }
    }

    /// Returns true if the watcher may sleep until a change: there was none since its sleep began.
    pub fn sleep_for_good(&mut self, changes_before: u64) -> bool {
        self.is_for_good = self.changes == changes_before;
        self.is_for_good
    }

    /// Notes that the thread of this lane sleeps no more. Returns the lane of the watcher, if that is to be
    /// woken.
    pub fn end(&mut self, lane: u8) -> Option<u8> {
        self.sleeping.remove(lane);
        self.change(lane)
    }

    /// Notes a change on this lane, which may have no thread afterwards. Returns the lane of the watcher, if
    /// that is to be woken.
    pub fn change(&mut self, lane: u8) -> Option<u8> {
        self.changes += 1;
        let was_for_good = std::mem::take(&mut self.is_for_good);
        self.watcher.filter(|watcher| was_for_good && *watcher != lane)
    }

    /// Ends the watch of this lane's thread, if it had it. Returns the lane of the sleeping thread that
    /// watches from now on, which is to be woken.
    pub fn leave(&mut self, lane: u8) -> Option<u8> {
        if self.watcher != Some(lane) {
            return None;
        }
        self.watcher = self.sleeping.iter().next();
        self.watcher
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_sleeps_watches_and_gives_the_watch_on() {
        let mut watch = Watch::default();
        assert_eq!(watch.begin(2), Role::Watcher(0));
        assert_eq!([0, 1].map(|lane| watch.begin(lane)), [Role::Sleeper; 2]);
        assert_eq!(watch.leave(1), None, "it does not watch");
        watch.end(2);
        assert_eq!(watch.leave(2), Some(0));
        watch.end(0);
        assert_eq!(watch.begin(0), Role::Watcher(2), "it goes on");
        (0..2).for_each(|lane| _ = watch.end(lane));
        assert_eq!(watch.leave(0), None, "no thread sleeps");
        assert_eq!(watch.begin(1), Role::Watcher(4));
    }

    #[test]
    fn a_sleep_for_good_ends_with_what_happens_elsewhere_and_only_then() {
        let mut watch = Watch::default();
        let Role::Watcher(before) = watch.begin(0) else { panic!("it is the only one") };
        watch.begin(1);
        assert!(watch.sleep_for_good(before));
        assert_eq!(watch.end(1), Some(0));
        assert_eq!(watch.change(1), None, "it is told once");
        assert!(!watch.sleep_for_good(before), "something has happened meanwhile");
        let Role::Watcher(before) = watch.begin(0) else { panic!("it watches still") };
        assert!(watch.sleep_for_good(before));
        assert_eq!(watch.end(0), None, "it is awake");
        assert_eq!(watch.change(2), None);
    }

    /// Plays threads of three lanes in any order: while one sleeps there is a watcher, whose wait lasts.
    #[test]
    fn while_a_thread_sleeps_one_watches() {
        #[derive(Clone, Copy, PartialEq, Debug)]
        enum Thread {
            Away,
            Asleep,
            Awake,
        }
        for steps in 0..3_u32.pow(9) {
            let (mut watch, mut threads) = (Watch::default(), [Thread::Away; 3]);
            for step in 0..9 {
                let lane = steps / 3_u32.pow(step) % 3;
                let at = lane as usize;
                threads[at] = match threads[at] {
                    Thread::Away => {
                        watch.begin(lane as u8);
                        Thread::Asleep
                    }
                    Thread::Asleep => {
                        watch.end(lane as u8);
                        Thread::Awake
                    }
                    // Every other wait goes on.
                    Thread::Awake if step % 2 == 0 => {
                        watch.begin(lane as u8);
                        Thread::Asleep
                    }
                    Thread::Awake => {
                        watch.leave(lane as u8);
                        Thread::Away
                    }
                };
                let watcher = watch.watcher.map(|watcher| threads[usize::from(watcher)]);
                assert_ne!(watcher, Some(Thread::Away), "{steps}: {threads:?}");
                let any_asleep = threads.contains(&Thread::Asleep);
                assert!(!any_asleep || watcher.is_some(), "{steps}: {threads:?}");
            }
        }
    }
}
