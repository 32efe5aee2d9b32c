//! Threads of the library that carry out started operations. They start on demand and end when no file needs
//! them.
//!
//! A file has one thread for its collective calls, which run in order. A process has a few threads for all
//! other calls.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use canele_engine::{Engine, LaneSet};
use canele_sys::atomic::{AtomicUsize, Ordering};

use crate::Result;

type Job = Box<dyn FnOnce() + Send>;

/// A pool of threads and its queue of jobs.
pub(crate) struct Workers {
    /// Largest number of threads.
    limit: usize,
    state: Mutex<WorkersState>,
    wake: Condvar,
    /// Number of jobs that have not ended.
    unfinished: AtomicUsize,
}

#[derive(Default)]
struct WorkersState {
    jobs: VecDeque<Job>,
    threads: usize,
    closed: bool,
}

impl Workers {
    /// Makes a pool of at most `limit` threads; it starts none yet.
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

    /// Makes a thread carry out a job, after the jobs before it have begun. When the job ends, threads that
    /// wait on the engine check again.
    pub fn start(self: &Arc<Self>, engine: &Arc<Engine>, job: Job) {
        let mut state = self.state();
        // Release: pairs with `is_idle`; the thread that started the job sees its effects.
        let unfinished = self.unfinished.fetch_add(1, Ordering::Release) + 1;
        state.jobs.push_back(job);
        // A thread takes the next job when its job ends. If only idle threads were counted, too many would be
        // started.
        if state.threads < unfinished.min(self.limit) {
            state.threads += 1;
            engine.count_own_thread();
            let (workers, served) = (self.clone(), engine.clone());
            let started = std::thread::Builder::new().spawn(move || workers.work(&served));
            if started.is_err() {
                engine.discount_own_thread();
                state.threads -= 1;
                // If there is a thread, it takes the job later; otherwise the calling thread carries it out.
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
        // A job that panics has reported an error to its operation, and the thread continues.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
        // Release: pairs with `is_idle`; the waiting thread sees the effects of the job.
        self.unfinished.fetch_sub(1, Ordering::Release);
        // If this fails, no call waits for the job.
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

    /// Returns true if all jobs have ended.
    fn is_idle(&self) -> bool {
        // Acquire: pairs with `work`.
        self.unfinished.load(Ordering::Acquire) == 0
    }

    /// Waits until all jobs have ended.
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn finish(&self, engine: &Engine) -> Result<()> {
        if self.is_idle() {
            Ok(())
        } else {
            Ok(engine.await_any(&[], LaneSet::default(), Some(&|| self.is_idle()))?)
        }
    }

    /// Lets the threads end once no job is left.
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
