//! Threads of the library that carry out what was started: started on first use, as many as wanted, until no file needs them.
//!
//! A file has one for its collective calls, which are carried out in their order; a process has a few for all others.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use canele_engine::{Engine, LaneSet};
use canele_sys::atomic::{AtomicUsize, Ordering};

use crate::Result;

type Job = Box<dyn FnOnce() + Send>;

/// Threads and what they are to do.
pub(crate) struct Workers {
    /// Threads at most.
    limit: usize,
    state: Mutex<WorkersState>,
    wake: Condvar,
    /// Jobs that have not ended.
    unfinished: AtomicUsize,
}

#[derive(Default)]
struct WorkersState {
    jobs: VecDeque<Job>,
    threads: usize,
    closed: bool,
}

impl Workers {
    /// So many threads at most, none of which is started.
    pub fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            state: Mutex::default(),
            wake: Condvar::new(),
            unfinished: AtomicUsize::new(0),
        })
    }

    fn state(&self) -> MutexGuard<'_, WorkersState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a thread carry out a job after those before it have begun. A thread that waits on the engine looks again when it has ended.
    pub fn start(self: &Arc<Self>, engine: &Arc<Engine>, job: Job) {
        let mut state = self.state();
        // Release: pairs with `is_idle`; the thread that started it sees that it has.
        let unfinished = self.unfinished.fetch_add(1, Ordering::Release) + 1;
        state.jobs.push_back(job);
        // A thread whose job has ended comes for the next one: counting those that already wait would start more than are needed.
        if state.threads < unfinished.min(self.limit) {
            state.threads += 1;
            engine.count_own_thread();
            let (workers, served) = (self.clone(), engine.clone());
            let started = std::thread::Builder::new().spawn(move || workers.work(&served));
            if started.is_err() {
                engine.discount_own_thread();
                state.threads -= 1;
                // Of several threads one comes to it; without any the caller carries it out.
                let left = if state.threads == 0 { std::mem::take(&mut state.jobs) } else { VecDeque::new() };
                drop(state);
                left.into_iter().for_each(|job| self.carry_out(engine, job));
                return self.wake.notify_one();
            }
        }
        drop(state);
        self.wake.notify_one();
    }

    fn carry_out(&self, engine: &Engine, job: Job) {
        // A job that fails by a panic has told its operation, and the thread goes on.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        // Release: pairs with `is_idle`; what the job did is seen by the thread that waited for it.
        self.unfinished.fetch_sub(1, Ordering::Release);
        // After the end of the job no call waits.
        let _ = engine.notify_waiters();
    }

    fn work(&self, engine: &Engine) {
        while let Some(job) = self.next() {
            self.carry_out(engine, job);
        }
        engine.discount_own_thread();
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.state();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.closed {
                state.threads -= 1;
                return None;
            }
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether all jobs have ended.
    fn is_idle(&self) -> bool {
        // Acquire: pairs with `work`.
        self.unfinished.load(Ordering::Acquire) == 0
    }

    /// Waits until all jobs have ended.
    ///
    /// # Errors
    /// In a forked child.
    pub fn finish(&self, engine: &Engine) -> Result<()> {
        if self.is_idle() {
            Ok(())
        } else {
            Ok(engine.await_any(&[], LaneSet::default(), Some(&|| self.is_idle()))?)
        }
    }

    /// Lets the threads end once there is nothing left to be done.
    pub fn close(&self) {
        self.state().closed = true;
        self.wake.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    fn workers() -> (Arc<Engine>, Arc<Workers>) {
        (Arc::new(Engine::start().unwrap()), Workers::new(3))
    }

    fn wait(workers: &Workers) {
        while !workers.is_idle() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn jobs_one_after_the_other_have_one_thread() {
        let (engine, workers) = workers();
        for _ in 0..1000 {
            workers.start(&engine, Box::new(|| {}));
            wait(&workers);
        }
        assert_eq!(workers.state().threads, 1);
        workers.close();
    }

    #[test]
    fn jobs_at_the_same_time_have_a_thread_each_up_to_the_limit() {
        let (engine, workers) = workers();
        let meeting = Arc::new(Barrier::new(3));
        for _ in 0..6 {
            let meeting = meeting.clone();
            let job = move || {
                meeting.wait();
            };
            workers.start(&engine, Box::new(job));
        }
        wait(&workers);
        assert_eq!(workers.state().threads, 3);
        workers.close();
    }
}
