//! The job and the endpoint: where a program begins.

use std::sync::Arc;
use std::time::{Duration, Instant};

use canele_engine::choice::Choice;
use canele_engine::{Engine, FlowId};
use canele_sys::counters::Snapshot;
use canele_sys::tunables::{STRATEGIES, Tunables};

use crate::mailbox::MailboxContext;
use crate::strategy::Strategy;
use crate::{Error, Flow, Rank};

/// The processes that were started together, seen from one of them.
pub struct Job {
    endpoint: Endpoint,
}

impl Job {
    /// Joins the job this process was started in; without a launcher, a job of one rank. Call it once in a program.
    ///
    /// # Errors
    /// A tunable that does not exist or is out of range, a launcher of another system, not enough memory: the text
    /// says what to change.
    pub fn start() -> Result<Self, Error> {
        let engine = Engine::of_process(&Tunables::from_env()?)?;
        if engine.tunables().progress_thread {
            engine.start_serving();
        }
        let context = MailboxContext::new(engine.clone()).inspect_err(|_| engine.leave()).map(Arc::new)?;
        Ok(Self { endpoint: Endpoint { engine, context } })
    }

    /// This process's number, from 0 to `size() - 1`.
    pub fn rank(&self) -> Rank {
        self.endpoint.rank()
    }

    /// How many ranks there are.
    pub fn size(&self) -> u32 {
        self.endpoint.size()
    }

    /// This rank's number among those of its host.
    pub fn local_rank(&self) -> u32 {
        self.endpoint.engine.place().local_rank
    }

    /// How many ranks this host has.
    pub fn local_size(&self) -> u32 {
        self.endpoint.engine.place().local_size
    }

    /// How many hosts have had ranks of the job at its start.
    pub fn hosts(&self) -> u32 {
        self.endpoint.engine.job().hosts.iter().filter(|host| host.ranks > 0).count() as u32
    }

    /// What this rank sends and receives with.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// The flow that all ranks share from the start.
    pub fn world(&self) -> Flow {
        self.endpoint.world()
    }

    /// Puts what waits for peers into packets by the built-in policy of this name from now on, as the tunable
    /// `CANELE_STRATEGY` does from the start: `aggregate`, `fifo`, `priority` or `split`.
    ///
    /// It concerns what this rank sends, to all peers. What waits at the time of the call keeps the order it has, so
    /// choose while nothing is under way.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn set_strategy(&self, name: &str) -> Result<(), Error> {
        let built_in = STRATEGIES.iter().find(|known| **known == name);
        let built_in = built_in.ok_or_else(|| Error::Strategy(name.to_owned()))?;
        self.use_strategy(|| crate::strategy::named(built_in).expect("a built-in one"))
    }

    /// The same with a policy of the program's own, which `make` gives for each lane of this rank; see [`crate::strategy`] for how one is
    /// written.
    ///
    /// # Errors
    /// In a forked child.
    pub fn use_strategy(&self, make: impl Fn() -> Box<dyn Strategy> + Send + 'static) -> Result<(), Error> {
        self.endpoint.engine.set_strategy(make)
    }

    /// Ends this rank's part in good order: everything sent so far will arrive. A rank that exits without it has failed.
    ///
    /// # Errors
    /// The launcher is gone.
    pub fn finish(self) -> Result<(), Error> {
        self.endpoint.finish()
    }
}

/// What a rank sends and receives with; cheap to clone, shared by threads.
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) engine: Arc<Engine>,
    pub(crate) context: Arc<MailboxContext>,
}

impl Endpoint {
    /// What interfaces of other languages call, whose memory is known by its address.
    #[doc(hidden)]
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Ends this rank's part, as [`Job::finish`], while other threads may be in calls, which end with [`Error::Finished`]: for interfaces of
    /// other languages, whose handles of the job outlive it.
    #[doc(hidden)]
    pub fn finish(&self) -> Result<(), Error> {
        let flushed = self.context.flush();
        self.engine.finish()?;
        flushed
    }

    /// This process's number.
    pub fn rank(&self) -> Rank {
        self.engine.rank()
    }

    /// How many ranks there are.
    pub fn size(&self) -> u32 {
        self.engine.size()
    }

    /// The flow that all ranks share from the start.
    pub fn world(&self) -> Flow {
        Flow::new(self.engine.clone(), FlowId(0))
    }

    /// What this rank has moved and done so far; see `canele info` for the meaning of each counter.
    ///
    /// # Errors
    /// In a forked child.
    pub fn counters(&self) -> Result<Snapshot, Error> {
        self.engine.counters()
    }

    /// What a message of `bytes` takes, and every protocol's estimate.
    ///
    /// # Errors
    /// In a forked child.
    pub fn protocol(&self, bytes: usize) -> Result<Choice, Error> {
        self.engine.choose(bytes, canele_engine::choice::Ends::default())
    }
}

/// The moment `wait` from now; too far to be expressed means never.
pub(crate) fn deadline(wait: Duration) -> Option<Instant> {
    Instant::now().checked_add(wait)
}
