//! A session: the random streams of one seed, the other ranks, and the log of instabilities.

use std::marker::PhantomData;

use canele::Job;

use crate::error::SessionError;
use crate::exchange::{self, Exchanges};
use crate::instability::{self, Instabilities, Watch};
use crate::rounding::Instructions;
use crate::{parallel, sequential};

/// Computes with stochastic numbers on this thread while it exists.
///
/// A thread can have one session of each form at a time. They share the log of instabilities, which ends with the first
/// session that is dropped.
#[derive(Debug)]
pub struct Session {
    is_parallel: bool,
    /// The session belongs to the thread that opened it.
    thread: PhantomData<*const ()>,
}

impl Session {
    /// Starts the sequential form. Without it a thread computes with seed 0 and watches nothing.
    pub fn sequential(seed: u64) -> Self {
        sequential::start(seed, None);
        Self { is_parallel: false, thread: PhantomData }
    }

    /// Does [`Session::sequential`], and rounds with these instructions, to measure them. All give the same
    /// samples.
    pub fn sequential_with(seed: u64, instructions: Instructions) -> Self {
        sequential::start(seed, Some(instructions));
        Self { is_parallel: false, thread: PhantomData }
    }

    /// Starts the parallel form on the three ranks of a job. All ranks must call it, with the same seed. Each
    /// call takes a flow, which is not given back ([`canele::Flow::duplicate`]).
    ///
    /// # Errors
    /// The job has another number of ranks, the thread already has a session of this form, or a rank has
    /// finished or died.
    pub fn parallel(job: &Job, seed: u64) -> Result<Self, SessionError> {
        let rank = exchange::open(job)?;
        parallel::start(seed, rank as u64);
        Ok(Self { is_parallel: true, thread: PhantomData })
    }

    /// Counts instabilities from now on.
    pub fn watch(&self, what: Watch) {
        instability::watch(what);
        sequential::watch(what);
    }

    /// Returns the counted instabilities. The parallel form counts only tests and absolute values.
    pub fn instabilities(&self) -> Instabilities {
        instability::counted()
    }

    /// Switches the timing of exchanges on or off; each costs two clock reads.
    pub fn time_exchanges(&self, is_timed: bool) {
        exchange::set_timed(is_timed);
    }

    /// Returns the count of samples exchanged with the other ranks; 0 in the sequential form.
    pub fn exchanges(&self) -> Exchanges {
        if self.is_parallel { exchange::exchanges() } else { Exchanges::default() }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.watch(Watch::Nothing);
        instability::clear();
        if self.is_parallel {
            exchange::close();
        }
    }
}
