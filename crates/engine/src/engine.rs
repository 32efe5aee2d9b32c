//! The handle to a rank's engine.

use std::sync::Arc;

use canele_rail::shm::Waker;
use canele_sys::atomic::{AtomicUsize, Ordering::Relaxed};
use canele_sys::biased_lock::{BiasedLock, Guard};
use canele_sys::counters::Snapshot;
use canele_sys::ids::{LinkId, Rank};
use canele_sys::tunables::Tunables;

use crate::Error;
use crate::core::Core;
use crate::rma::PutCounts;
use canele_control::{Control, JobInfo, RankPlace};

/// One rank's engine; shared by its threads.
pub struct Engine {
    core: BiasedLock<Core>,
    pub(crate) waker: Waker,
    pub(crate) put_counts: Arc<PutCounts>,
    place: RankPlace,
    job: JobInfo,
    /// Threads of the library.
    own_threads: AtomicUsize,
    pub(crate) tunables: Tunables,
}

/// The locked core.
pub(crate) type Locked<'a> = Guard<'a, Core>;

impl Engine {
    /// Joins the job that the environment describes; alone, a job of one rank.
    ///
    /// # Errors
    /// Wrong settings, a foreign launcher, no memory.
    pub fn start() -> Result<Self, Error> {
        let tunables = Tunables::from_env()?;
        Self::join(&tunables, Control::from_env()?)
    }

    /// Joins the job at the other end of `control`.
    ///
    /// # Errors
    /// As [`Engine::start`].
    pub fn join(tunables: &Tunables, control: Option<Control>) -> Result<Self, Error> {
        let place = control.as_ref().map_or(RankPlace::ALONE, Control::place);
        let core = Core::open(tunables, control)?;
        Ok(Self {
            waker: core.progress.rails.waker(),
            put_counts: core.rma.put_counts.clone(),
            job: core.membership.job.clone(),
            core: BiasedLock::new(core),
            place,
            own_threads: AtomicUsize::new(0),
            tunables: tunables.clone(),
        })
    }

    /// Starts a thread that makes progress while the program computes.
    pub fn start_serving(self: &Arc<Self>) {
        // Counted before another thread can count threads.
        self.own_threads.fetch_add(1, Relaxed);
        let engine = self.clone();
        std::thread::spawn(move || engine.serve());
    }

    pub(crate) fn own_threads(&self) -> usize {
        self.own_threads.load(Relaxed)
    }

    /// This rank.
    pub fn rank(&self) -> Rank {
        Rank(self.place.rank)
    }

    /// Ranks in the job.
    pub fn size(&self) -> u32 {
        self.place.size
    }

    /// This rank's place in the job.
    pub fn place(&self) -> RankPlace {
        self.place
    }

    /// The job.
    pub fn job(&self) -> &JobInfo {
        &self.job
    }

    /// Takes the lock of the core.
    #[inline(always)]
    pub(crate) fn lock(&self) -> Result<Locked<'_>, Error> {
        Ok(self.core.lock()?)
    }

    /// Takes the lock of the core, if this thread has its bias.
    #[inline(always)]
    pub(crate) fn lock_by_bias(&self) -> Option<Locked<'_>> {
        self.core.lock_by_bias()
    }

    /// Takes the lock and wakes the thread that sleeps in the rail, because what is done now may concern it
    /// (invariant I7).
    #[inline(always)]
    pub(crate) fn lock_to_submit(&self) -> Result<Locked<'_>, Error> {
        let core = self.core.lock()?;
        core.check()?;
        self.wake_progress_owner(&core);
        Ok(core)
    }

    /// What has been counted so far.
    ///
    /// # Errors
    /// `Forked`.
    pub fn counters(&self) -> Result<Snapshot, Error> {
        Ok(self.lock()?.counters())
    }

    /// What a message of `bytes` to any peer would take, and why.
    ///
    /// # Errors
    /// `Forked`.
    pub fn choose(
        &self,
        bytes: usize,
        ends: canele_proto::choice::Ends,
    ) -> Result<canele_proto::choice::Choice, Error> {
        let core = self.lock()?;
        Ok(canele_proto::choice::choose(
            canele_rail::Rail::caps(&core.progress.rails, LinkId::new(0, Rank(0))),
            core.progress.proto.eager_bytes(),
            bytes,
            ends,
        ))
    }

    #[inline(always)]
    pub(crate) fn check_source(&self, want: canele_proto::matching::Want) -> Result<(), Error> {
        want.source.map_or(Ok(()), |source| self.check_rank(source))
    }

    #[inline(always)]
    pub(crate) fn check_rank(&self, rank: Rank) -> Result<(), Error> {
        if rank.0 < self.place.size { Ok(()) } else { Err(Error::NoSuchRank { rank, size: self.place.size }) }
    }
}
