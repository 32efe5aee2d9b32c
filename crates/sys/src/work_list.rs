//! Work that one thread at a time advances, outside of the lock that protects its list.
//!
//! Owns the right to the list. A thread that finds another one busy makes that one check again, because the
//! newcomer may know of an event that the other has just missed. This module never waits, and never knows the
//! work.

/// A list of work, protected by a lock.
#[derive(Debug)]
pub struct WorkList<T> {
    list: Vec<T>,
    /// True while a thread has taken all work out of the list and advances it.
    is_busy: bool,
    /// True if another thread came meanwhile.
    has_missed: bool,
}

impl<T> Default for WorkList<T> {
    fn default() -> Self {
        Self { list: Vec::new(), is_busy: false, has_missed: false }
    }
}

impl<T> WorkList<T> {
    /// Adds work.
    pub fn push(&mut self, work: T) {
        self.list.push(work);
    }

    /// Gives all work to this thread, unless there is none or another thread has it.
    pub fn begin(&mut self) -> Option<Vec<T>> {
        if self.is_busy {
            self.has_missed = true;
            return None;
        }
        self.is_busy = !self.list.is_empty();
        self.is_busy.then(|| std::mem::take(&mut self.list))
    }

    /// Puts the rest of the work back; returns true if this thread must begin again.
    pub fn finish(&mut self, left: Vec<T>) -> bool {
        self.list.splice(..0, left);
        self.is_busy = false;
        std::mem::take(&mut self.has_missed)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_comes_while_another_one_is_busy_has_that_one_look_again() {
        let mut work = WorkList::default();
        assert!(work.begin().is_none(), "there is none");
        work.push(1);
        let mut taken = work.begin().expect("no thread is busy");
        work.push(2);
        assert!(work.begin().is_none(), "one thread is");
        taken.push(3);
        assert!(work.finish(taken), "the other may know of an end that was not there before");
        let taken = work.begin().expect("no thread is busy");
        assert_eq!(taken, [1, 3, 2]);
        assert!(!work.finish(Vec::new()), "it is told once");
        assert!(work.begin().is_none());
    }
}

#[cfg(all(test, loom))]
mod models {
    use loom::sync::{Arc, Mutex};
    use loom::thread;

    use super::*;

    /// An event that work waits for, under a lock of its own, and a flag that the work was done.
    #[derive(Default)]
    struct Shared {
        work: Mutex<WorkList<()>>,
        has_ended: Mutex<bool>,
        is_done: Mutex<bool>,
    }

    impl Shared {
        fn advance(&self) {
            loop {
                let Some(mut work) = self.work.lock().unwrap().begin() else { return };
                if *self.has_ended.lock().unwrap() {
                    *self.is_done.lock().unwrap() = true;
                    work.clear();
                }
                if !self.work.lock().unwrap().finish(work) {
                    return;
                }
            }
        }
    }

    /// One thread checks in vain while another one causes the event that the work waits for: one of the two
    /// does the work.
    #[test]
    fn loom_what_ends_amid_a_look_is_seen() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Arc::new(Shared::default());
            shared.work.lock().unwrap().push(());
            let looks = thread::spawn({
                let shared = shared.clone();
                move || shared.advance()
            });
            *shared.has_ended.lock().unwrap() = true;
            shared.advance();
            looks.join().unwrap();
            assert!(*shared.is_done.lock().unwrap(), "both threads have gone");
        });
    }
}
