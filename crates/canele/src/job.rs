//! The job and the endpoint: the objects with which a program begins.

use std::sync::Arc;
use std::time::{Duration, Instant};

use canele_engine::choice::Choice;
use canele_engine::{Engine, FlowId};
use canele_sys::counters::Snapshot;
use canele_sys::tunables::{STRATEGIES, Tunables};

use crate::mailbox::MailboxContext;
use crate::strategy::Strategy;
use crate::{Error, Flow, Rank};

/// The job, as one of its processes sees it: the processes that were started together.
pub struct Job {
    endpoint: Endpoint,
}

impl Job {
    /// Joins the job in which this process was started; without a launcher, it is a job of one rank. Call it
    /// once in a program.
    ///
    /// # Errors
    /// Fails if a tunable does not exist or is out of range, the launcher is of another system, or there is
    /// not enough memory. The text says what to change.
    pub fn start() -> Result<Self, Error> {
        let engine = Engine::of_process(&Tunables::from_env()?)?;
        if engine.tunables().progress_thread {
            engine.start_serving();
        }
        let context = MailboxContext::new(engine.clone()).inspect_err(|_| engine.leave()).map(Arc::new)?;
        Ok(Self { endpoint: Endpoint { engine, context } })
    }

    /// Returns this process's rank, from 0 to `size() - 1`.
    pub fn rank(&self) -> Rank {
        self.endpoint.rank()
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> u32 {
        self.endpoint.size()
    }

    /// Returns this rank's number among those of its host.
    pub fn local_rank(&self) -> u32 {
        self.endpoint.engine.place().local_rank
    }

    /// Returns the number of ranks of this host.
    pub fn local_size(&self) -> u32 {
        self.endpoint.engine.place().local_size
    }

    /// Returns the number of hosts that had ranks of the job at its start.
    pub fn hosts(&self) -> u32 {
        self.endpoint.engine.job().hosts.iter().filter(|host| host.ranks > 0).count() as u32
    }

    /// Returns the endpoint, with which this rank sends and receives.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns the flow that all ranks share from the start.
    pub fn world(&self) -> Flow {
        self.endpoint.world()
    }

    /// Selects the built-in strategy that combines waiting messages into packets: `aggregate`, `fifo`,
    /// `priority` or `split`. The tunable `CANELE_STRATEGY` selects the initial one.
    ///
    /// It applies to messages of this rank to all peers. Messages that wait at the time of the call keep
    /// their order, so call it while nothing is under way.
    ///
    /// # Errors
    /// Fails if no strategy has this name.
    pub fn set_strategy(&self, name: &str) -> Result<(), Error> {
        let built_in = STRATEGIES.iter().find(|known| **known == name);
        let built_in = built_in.ok_or_else(|| Error::Strategy(name.to_owned()))?;
        self.use_strategy(|| crate::strategy::named(built_in).expect("a built-in one"))
    }

    /// Selects a strategy of the program's own; `make` makes one for each lane of this rank. See
    /// [`crate::strategy`] for writing one.
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn use_strategy(&self, make: impl Fn() -> Box<dyn Strategy> + Send + 'static) -> Result<(), Error> {
        self.endpoint.engine.set_strategy(make)
    }

    /// Finishes this rank. All messages sent so far will arrive. A rank that exits without this call has
    /// failed.
    ///
    /// # Errors
    /// Fails if the launcher is gone.
    pub fn finish(self) -> Result<(), Error> {
        self.endpoint.finish()
    }
}

/// The endpoint of a rank for sending and receiving; cheap to clone, shared by threads.
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) engine: Arc<Engine>,
    pub(crate) context: Arc<MailboxContext>,
}

impl Endpoint {
    /// Returns the engine for interfaces of other languages, which know memory by its address.
    #[doc(hidden)]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Finishes this rank as [`Job::finish`] does, even while other threads are in calls; these end with
    /// [`Error::Finished`]. It is for interfaces of other languages, whose handles outlive the job.
    #[doc(hidden)]
    pub fn finish(&self) -> Result<(), Error> {
        let flushed = self.context.flush();
        self.engine.finish()?;
        flushed
    }

    /// Returns this process's rank.
    pub fn rank(&self) -> Rank {
        self.engine.rank()
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> u32 {
        self.engine.size()
    }

    /// Returns the flow that all ranks share from the start.
    pub fn world(&self) -> Flow {
        Flow::new(self.engine.clone(), FlowId(0))
    }

    /// Returns this rank's counters; `canele info` explains each of them.
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn counters(&self) -> Result<Snapshot, Error> {
        self.engine.counters()
    }

    /// Returns the protocol for a message of `bytes`, and every protocol's estimate.
    ///
    /// # Errors
    /// Fails in a forked child.
    pub fn protocol(&self, bytes: usize) -> Result<Choice, Error> {
        self.engine.choose(bytes, canele_engine::choice::Ends::default())
    }
}

/// Returns the time `wait` from now; `None`, which means no deadline, if that time cannot be expressed.
pub(crate) fn deadline(wait: Duration) -> Option<Instant> {
    Instant::now().checked_add(wait)
}
