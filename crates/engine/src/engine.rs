//! The handle to a rank's engine.

use std::sync::{Arc, OnceLock};

use canele_rail::shm::{Alarm, Doorbell};
use canele_sys::atomic::{AtomicUsize, Ordering::Relaxed};
use canele_sys::counters::Snapshot;
use canele_sys::gate::{Gate, Guard};
use canele_sys::ids::{LinkId, Rank};
use canele_sys::tunables::Tunables;

use crate::Error;
use crate::control::{Control, FromLauncher, JobInfo, Place, Socket};
use crate::core::Core;
use crate::regions::Puts;

/// One rank's engine; shared by its threads.
pub struct Engine {
    gate: Gate<Core>,
    pub(crate) alarm: Alarm,
    pub(crate) puts: Arc<Puts>,
    place: Place,
    job: JobInfo,
    kept: OnceLock<(Socket, Doorbell)>,
    /// Threads of the library.
    own_threads: AtomicUsize,
    pub(crate) tunables: Tunables,
}

/// The right to use the core.
pub(crate) type Inside<'a> = Guard<'a, Core>;

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
        let place = control.as_ref().map_or(Place::ALONE, Control::place);
        let core = Core::open(tunables, control)?;
        let (alarm, job, puts) = (core.rails.alarm(), core.job.clone(), core.puts.clone());
        Ok(Self {
            alarm,
            puts,
            job,
            gate: Gate::new(core),
            place,
            kept: OnceLock::new(),
            own_threads: AtomicUsize::new(0),
            tunables: tunables.clone(),
        })
    }

    /// Keeps what a launcher would have as long as the engine lives: the other end of its socket, and its bell.
    pub(crate) fn keep(&self, socket: Socket, bell: Doorbell) {
        self.kept.get_or_init(|| (socket, bell));
    }

    /// Says something to the engine as its launcher would.
    pub(crate) fn hear(&self, message: &FromLauncher) {
        if let Some((socket, bell)) = self.kept.get() {
            let _ = socket.try_send(message, &[]);
            bell.ring();
        }
    }

    /// Starts a thread that makes progress while the program computes.
    pub fn start_serving(self: &Arc<Self>) {
        // Counted before anybody can count threads.
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
    pub fn place(&self) -> Place {
        self.place
    }

    /// The job.
    pub fn job(&self) -> &JobInfo {
        &self.job
    }

    #[inline(always)]
    pub(crate) fn enter(&self) -> Result<Inside<'_>, Error> {
        Ok(self.gate.enter()?)
    }

    /// The same, and awake: another thread that sleeps in the rail is woken, because what is done now may concern it
    /// (invariant I15).
    #[inline(always)]
    pub(crate) fn enter_to_submit(&self) -> Result<Inside<'_>, Error> {
        let core = self.gate.enter()?;
        core.check()?;
        if core.asleep {
            self.alarm.ring();
        }
        Ok(core)
    }

    /// What has been counted so far.
    ///
    /// # Errors
    /// `Forked`.
    pub fn counters(&self) -> Result<Snapshot, Error> {
        Ok(self.enter()?.counters())
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
        let core = self.enter()?;
        Ok(canele_proto::choice::choose(
            canele_rail::Rail::caps(&core.rails, LinkId::new(0, Rank(0))),
            core.proto.eager_bytes(),
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
