//! The handle to a rank's engine.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use canele_rail::Waker;
use canele_sys::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};
use canele_sys::biased_lock::{BiasedLock, Guard};
use canele_sys::counters::Snapshot;
use canele_sys::ids::{LinkId, Rank};
use canele_sys::tunables::Tunables;
use canele_trace::Tracer;

use crate::Error;
use crate::core::Core;
use crate::lanes::Lanes;
use crate::rma::PutCounts;
use crate::users::Users;
use canele_control::{Control, JobInfo, OnFailure, RankPlace};

/// One rank's engine; shared by its threads.
pub struct Engine {
    core: BiasedLock<Core>,
    pub(crate) waker: Waker,
    pub(crate) put_counts: Arc<PutCounts>,
    place: RankPlace,
    /// The job at the time when this rank joined it.
    job: JobInfo,
    /// The ranks that share this one's world.
    world: Range<u32>,
    /// The number of ranks in the job, at the last look.
    ranks: AtomicU32,
    /// The number of threads of the library.
    own_threads: Arc<AtomicUsize>,
    /// True if one of them makes progress for the program.
    is_served: AtomicBool,
    /// True once this rank has finished the job.
    pub(crate) is_finished: AtomicBool,
    pub(crate) tunables: Tunables,
    /// The recorder of events, if this rank is traced.
    pub(crate) tracer: Option<Arc<Tracer>>,
    pub(crate) users: Users,
    pub(crate) lanes: Lanes,
}

/// The locked core.
pub(crate) type Locked<'a> = Guard<'a, Core>;

impl Engine {
    /// Joins the job that the environment describes; without one, a job of this rank alone.
    ///
    /// # Errors
    /// Wrong settings, a foreign launcher, no memory.
    pub fn start() -> Result<Self, Error> {
        Self::start_with(&Tunables::from_env()?)
    }

    /// Joins the job that the environment describes, with these settings in place of the environment's.
    ///
    /// # Errors
    /// Those of [`Engine::start`].
    pub fn start_with(tunables: &Tunables) -> Result<Self, Error> {
        let timeout = Duration::from_millis(tunables.remote_start_ms);
        Self::join(tunables, Control::join(timeout)?)
    }

    /// Joins the job at the other end of `control`.
    ///
    /// # Errors
    /// Those of [`Engine::start`].
    pub fn join(tunables: &Tunables, control: Option<Control>) -> Result<Self, Error> {
        Self::join_as(tunables, control, Lanes::first())
    }

    /// Joins the job as one of the lanes of its rank.
    pub(crate) fn join_as(
        tunables: &Tunables,
        control: Option<Control>,
        lanes: Lanes,
    ) -> Result<Self, Error> {
        let place = control.as_ref().map_or(RankPlace::ALONE, Control::place);
        let traced_as = lanes.first.as_ref().and_then(|first| first.tracer.as_deref());
        let core = Core::open(lanes.number(), tunables, control, traced_as)?;
        Ok(Self {
            waker: core.lane.rails.waker(),
            own_threads: match &lanes.first {
                Some(first) => first.own_threads.clone(),
                None => core.lane.rails.own_threads().clone(),
            },
            put_counts: core.rma.put_counts.clone(),
            world: core.membership.job.world_of(place.rank),
            ranks: AtomicU32::new(core.membership.job.ranks()),
            job: core.membership.job.clone(),
            tracer: core.tracer.clone(),
            core: BiasedLock::new(core),
            place,
            is_served: AtomicBool::new(false),
            is_finished: AtomicBool::new(false),
            users: Users::new(),
            lanes,
            tunables: tunables.clone(),
        })
    }

    /// Starts a thread that makes progress on all lanes of this rank while the program computes, unless there
    /// is one. Returns true if there is one now. Without it, for example if the system refuses a thread, only
    /// calls make progress.
    pub fn start_serving(self: &Arc<Self>) -> bool {
        self.first_lane().serve_on_thread()
    }

    fn serve_on_thread(self: &Arc<Self>) -> bool {
        if self.is_served.swap(true, Relaxed) {
            return true;
        }
        // The thread is counted before another thread can count threads.
        self.own_threads.fetch_add(1, Relaxed);
        let engine = self.clone();
        let started = std::thread::Builder::new().spawn(move || engine.serve());
        if started.is_err() {
            self.own_threads.fetch_sub(1, Relaxed);
            self.is_served.store(false, Relaxed);
        }
        started.is_ok()
    }

    /// Counts a thread of the library that begins, before it is started: the program sends nothing from it.
    pub fn count_own_thread(&self) {
        self.own_threads.fetch_add(1, Relaxed);
    }

    /// Counts a thread of the library that ends.
    pub fn discount_own_thread(&self) {
        self.own_threads.fetch_sub(1, Relaxed);
    }

    pub(crate) fn own_threads(&self) -> usize {
        self.own_threads.load(Relaxed)
    }

    /// Returns this rank.
    pub fn rank(&self) -> Rank {
        Rank(self.place.rank)
    }

    /// Returns the number of ranks in the job at its start; for a spawned rank, of those spawned with it.
    pub fn size(&self) -> u32 {
        self.world.len() as u32
    }

    /// Returns the ranks that this one was started with, including itself.
    pub fn world(&self) -> Range<u32> {
        self.world.clone()
    }

    /// Returns the index of a rank's host, also for a rank that was spawned since this one joined the job.
    pub fn host_of(&self, rank: Rank) -> usize {
        if rank.0 < self.job.ranks() {
            return self.job.host_of(rank.0);
        }
        self.lock().map_or(0, |core| core.membership.job.host_of(rank.0))
    }

    /// Returns this rank's place in the job.
    pub fn place(&self) -> RankPlace {
        self.place
    }

    /// Returns true if the other ranks go on when one dies.
    pub fn goes_on_after_failures(&self) -> bool {
        // A program that was started alone may have got a launcher since.
        self.lock().is_ok_and(|core| core.membership.job.on_failure == OnFailure::Continue)
    }

    /// Returns the job at the time when this rank joined it.
    pub fn job(&self) -> &JobInfo {
        &self.job
    }

    /// Returns the process id of the job's launcher, which tells jobs of a host apart; 0 for a job without
    /// one.
    ///
    /// # Errors
    /// `Forked`.
    pub fn launcher(&self) -> Result<u32, Error> {
        Ok(self.lock()?.membership.job.launcher)
    }

    /// Takes the lock of the core, and submits deferred receives.
    #[inline(always)]
    pub(crate) fn lock(&self) -> Result<Locked<'_>, Error> {
        let mut core = self.core.lock()?;
        self.submit_deferred(&mut core);
        Ok(core)
    }

    /// Submits the receives that were deferred on this lane, if there are any.
    #[inline(always)]
    pub(crate) fn submit_deferred(&self, core: &mut Core) {
        if core.lane.deferred.any() {
            core.submit_deferred();
            self.wake_progress_owner(core);
        }
    }

    /// Takes the lock of the core, if this thread has its bias.
    #[inline(always)]
    pub(crate) fn lock_by_bias(&self) -> Option<Locked<'_>> {
        self.core.lock_by_bias()
    }

    /// Takes the lock of the core, if this thread has its bias, or no thread has it and the lock is free.
    /// Deferred receives stay deferred.
    #[inline(always)]
    pub(crate) fn lock_at_once(&self) -> Option<Locked<'_>> {
        self.core.lock_at_once()
    }

    /// Returns true if this thread has the bias of the lock.
    pub(crate) fn is_biased_here(&self) -> bool {
        self.core.is_biased_here()
    }

    /// Takes the lock of the core, if no thread has its bias and it is free.
    #[inline(always)]
    pub(crate) fn lock_if_free(&self) -> Option<Locked<'_>> {
        self.core.lock_if_free()
    }

    /// Takes the lock and wakes the thread that sleeps in the rail, because the caller's operation may
    /// concern it (invariant I7).
    #[inline(always)]
    pub(crate) fn lock_to_submit(&self) -> Result<Locked<'_>, Error> {
        let core = self.lock()?;
        core.check()?;
        self.wake_progress_owner(&core);
        Ok(core)
    }

    /// Returns the counts so far.
    ///
    /// # Errors
    /// `Forked`.
    pub fn counters(&self) -> Result<Snapshot, Error> {
        let mut counters = self.lock()?.counters();
        for lane in self.further_lanes() {
            counters = counters.with(&lane.lock()?.counters());
        }
        Ok(counters)
    }

    /// Returns the most unexpected messages held at once since the last call, and the most bytes of credit
    /// that they took. For several lanes these are sums, though each may have had its most at another time.
    ///
    /// # Errors
    /// `Forked`.
    pub fn take_peaks(&self) -> Result<[u64; 2], Error> {
        let mut peaks =
            self.all_lanes().iter().map(|lane| Ok(self.numbered_lane(lane).lock()?.lane.proto.take_peaks()));
        peaks.try_fold([0; 2], |[messages, bytes], peaks: Result<[u64; 2], Error>| {
            let [more_messages, more_bytes] = peaks?;
            Ok([messages + more_messages, bytes + more_bytes])
        })
    }

    /// Fails if this rank has finished the job: for calls that do not take the lock.
    ///
    /// # Errors
    /// `Finished`.
    #[inline(always)]
    pub fn check_unfinished(&self) -> Result<(), Error> {
        // Relaxed: a call that comes at the same time as the end may be before it.
        if self.is_finished.load(Relaxed) { Err(Error::Finished) } else { Ok(()) }
    }

    /// Returns true if this thread is inside the library, which it must not call then.
    pub fn is_inside(&self) -> bool {
        self.all_lanes().iter().any(|lane| self.numbered_lane(lane).core.is_held_here())
    }

    /// Returns the variant of a message of `bytes` to any peer, and the estimates.
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
            canele_rail::Rail::caps(&core.lane.rails, LinkId::new(0, Rank(0))),
            core.lane.proto.host_profile(),
            core.lane.proto.eager_bytes(),
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
        // Relaxed: a number on its own, which only grows.
        if rank.0 < self.ranks.load(Relaxed) { Ok(()) } else { self.look_for_rank(rank) }
    }

    /// Looks up a rank in a job that may have grown: a peer may name ranks whose notice from the launcher was
    /// not read here.
    #[cold]
    #[inline(never)]
    fn look_for_rank(&self, rank: Rank) -> Result<(), Error> {
        if self.lock()?.check_rank(rank).is_err() {
            // The launcher has sent its notices before it answers.
            self.first().lookup("")?;
        }
        let mut core = self.lock()?;
        core.read_launcher();
        self.ranks.store(core.membership.job.ranks(), Relaxed);
        core.check_rank(rank)
    }
}
