//! Threads of the library that carry out what was started: started on first use, as many as wanted, until nobody needs them.
//!
//! A file has one for its collective calls, which are carried out in their order; a process has a few for all others.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use canele_engine::Engine;
use canele_sys::atomic::{AtomicUsize, Ordering};

use crate::Result;

type Job = Box<dyn FnOnce() + Send>;

/// Threads and what they are to do.
pub(crate) struct Workers {
    /// Threads at most.
    limit: usize,
    state: Mutex<State>,
    wake: Condvar,
    /// Jobs that have not ended.
    unfinished: AtomicUsize,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
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

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a thread carry out a job after those before it have begun. Whoever waits on the engine looks again when it has ended.
    pub fn start(self: &Arc<Self>, engine: &Arc<Engine>, job: Job) {
        // Release: pairs with `is_idle`; whoever started it sees that it has.
        self.unfinished.fetch_add(1, Ordering::Release);
        let mut state = self.state();
        state.jobs.push_back(job);
        if state.idle < state.jobs.len() && state.threads < self.limit {
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
            state.idle += 1;
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.idle -= 1;
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
        if self.is_idle() { Ok(()) } else { Ok(engine.await_any(&[], Some(&|| self.is_idle()))?) }
    }

    /// Lets the threads end once there is nothing left to be done.
    pub fn close(&self) {
        self.state().closed = true;
        self.wake.notify_all();
    }
}
