//! The life cycle of a process in MPI: joining the job, users of the engine, leaving (MPI 5.0, §11.2, §11.3).
//!
//! ```text
//!   MPI_Init ────────▶ initialized ──▶ MPI_Finalize: finalized
//!   MPI_Session_init ─▶ one more user ──▶ MPI_Session_finalize: one less
//!
//!   the first user joins the job; the last one after MPI_Finalize leaves it
//! ```
//! Each C interface (one for each ABI) has one instance.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::thread::ThreadId;

use canele_engine::{Engine, strategy};
use canele_sys::atomic::{AtomicBool, Ordering::Relaxed};
use canele_sys::tunables::{STRATEGIES, Settable, TunableError, TunableRow, Tunables};

use crate::errhandler::Errhandler;
use crate::world::World;
use crate::{Class, Result, fail};

/// The thread levels of a program (MPI 5.0, §11.6.2), in rising order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ThreadLevel {
    /// There is one thread.
    Single,
    /// Only the main thread calls MPI.
    Funneled,
    /// Any thread calls MPI, one at a time.
    Serialized,
    /// Any thread calls MPI at any time.
    Multiple,
}

/// The state of a process in MPI.
pub struct Process {
    initialized: AtomicBool,
    finalized: AtomicBool,
    /// The thread level, and the thread that called `MPI_Init`.
    main: OnceLock<(ThreadLevel, ThreadId)>,
    /// The communicators of the process, from the first user on.
    world: RwLock<Option<Arc<World>>>,
    engine: OnceLock<Arc<Engine>>,
    users: Mutex<Users>,
    errhandler: OnceLock<Arc<Errhandler>>,
    /// Tunables set by tools, with their values, in order.
    changes: Mutex<Vec<(&'static str, String)>>,
    /// Called when a communicator is revoked or a rank dies, from within any call.
    on_failure: fn(),
}

/// The users of the engine through this library.
struct Users {
    /// Number of users that have initialised and not finalised: the world model and sessions.
    count: usize,
    /// True after the library has left the job.
    has_left: bool,
}

/// The reason why a tunable was not set.
#[derive(Debug)]
pub enum NotSet {
    /// No rank can ever change the tunable.
    Never,
    /// The time to change the tunable has passed, or another thread is joining the job.
    NotNow,
    /// The tunable cannot have this value.
    Value(TunableError),
}

impl Process {
    /// Returns a process that has not begun. `on_failure` is called whenever a communicator is revoked or a
    /// rank dies; it must not call the library.
    pub const fn new(on_failure: fn()) -> Self {
        Self {
            initialized: AtomicBool::new(false),
            finalized: AtomicBool::new(false),
            main: OnceLock::new(),
            world: RwLock::new(None),
            engine: OnceLock::new(),
            users: Mutex::new(Users { count: 0, has_left: false }),
            errhandler: OnceLock::new(),
            changes: Mutex::new(Vec::new()),
            on_failure,
        }
    }

    /// Returns true after `MPI_Init` has succeeded.
    pub fn is_initialized(&self) -> bool {
        // Relaxed, here and below: the flag orders no other memory; locks protect the state.
        self.initialized.load(Relaxed)
    }

    /// Returns true after `MPI_Finalize` has succeeded.
    pub fn is_finalized(&self) -> bool {
        self.finalized.load(Relaxed)
    }

    /// Returns the communicators of the process.
    ///
    /// # Errors
    /// Fails if the process is not initialised or was finalised.
    pub fn world(&self) -> Result<Arc<World>> {
        match &*self.world.read().unwrap_or_else(PoisonError::into_inner) {
            Some(world) => Ok(world.clone()),
            None if self.is_finalized() => fail!(Other, "MPI was finalised: this call comes too late"),
            None => fail!(Other, "MPI is not initialised: call MPI_Init or MPI_Session_init first"),
        }
    }

    /// Returns the communicators of the process, unless another thread is changing them. It is for a process
    /// that is about to end.
    pub fn world_at_hand(&self) -> Option<Arc<World>> {
        self.world.try_read().ok().and_then(|world| world.clone())
    }

    /// Returns the engine, for calls that name no communicator.
    ///
    /// # Errors
    /// Fails like [`Self::world`].
    #[inline]
    pub fn engine(&self) -> Result<&Arc<Engine>> {
        match self.engine.get() {
            Some(engine) => Ok(engine),
            None => {
                let engine = self.world()?.engine().clone();
                Ok(self.engine.get_or_init(|| engine))
            }
        }
    }

    /// Returns the error handler for errors outside of any communicator's lifetime.
    pub fn errhandler(&self) -> Arc<Errhandler> {
        // The start of the engine reports wrong settings.
        let value = || self.settings(None).map_or("", |tunables| tunables.mpi_errhandler);
        self.errhandler.get_or_init(|| Arc::new(Errhandler::initial(value()))).clone()
    }

    fn changes(&self) -> MutexGuard<'_, Vec<(&'static str, String)>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the settings of an engine, or those of the environment before its start, with the changes of
    /// tools.
    fn settings(&self, engine: Option<&Engine>) -> Result<Tunables, TunableError> {
        let mut tunables = match engine {
            Some(engine) => engine.tunables().clone(),
            None => Tunables::from_env()?,
        };
        let changes = self.changes();
        for row in Tunables::table() {
            if let Some((_, value)) = changes.iter().rfind(|(name, _)| *name == row.name) {
                tunables.assign(&row.variable(), value)?;
            }
        }
        Ok(tunables)
    }

    /// Returns the tunables with their values in force, or those with which the process would join its job.
    ///
    /// # Errors
    /// Fails if an environment variable is unknown or out of range.
    pub fn tunables(&self) -> Result<Tunables, TunableError> {
        let Some(world) = self.world_at_hand() else { return self.settings(None) };
        let engine = world.engine();
        let mut tunables = self.settings(Some(engine))?;
        if !engine.is_inside()
            && let Ok(strategy) = engine.ask(|view| view.strategy().to_owned())
            && let Some(strategy) = STRATEGIES.iter().find(|name| **name == strategy)
        {
            // A program with a job of the native API may have chosen another strategy.
            tunables.strategy = strategy;
        }
        Ok(tunables)
    }

    /// Sets a tunable for this process: for its start, or from now on if it has joined its job.
    ///
    /// # Errors
    /// Fails for the reasons of [`NotSet`].
    pub fn set_tunable(&self, row: &TunableRow, value: &str) -> Result<(), NotSet> {
        if row.settable() == Settable::Never {
            return Err(NotSet::Never);
        }
        // A thread that holds the lock is joining the job.
        let Ok(world) = self.world.try_read() else { return Err(NotSet::NotNow) };
        let Some(engine) = world.as_ref().map(|world| world.engine().clone()) else {
            // The lock is held until the value is set, so the process does not join its job meanwhile.
            let is_read = row.name == "mpi_errhandler" && self.errhandler.get().is_some();
            return if is_read { Err(NotSet::NotNow) } else { self.change(None, row, value).map(drop) };
        };
        drop(world);
        if row.settable() != Settable::Always || engine.is_inside() {
            return Err(NotSet::NotNow);
        }
        let tunables = self.change(Some(&engine), row, value)?;
        follow(&engine, row.name, &tunables).map_err(|_| NotSet::NotNow)
    }

    /// Stores the value of a tunable, if it is allowed; returns the settings with it.
    fn change(&self, engine: Option<&Engine>, row: &TunableRow, value: &str) -> Result<Tunables, NotSet> {
        let mut tunables = self.settings(engine).map_err(NotSet::Value)?;
        tunables.assign(&row.variable(), value).map_err(NotSet::Value)?;
        let mut changes = self.changes();
        changes.retain(|(name, _)| *name != row.name);
        changes.push((row.name, value.to_owned()));
        Ok(tunables)
    }

    fn users(&self) -> MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a user; the first user joins the job.
    ///
    /// # Errors
    /// Fails if the job cannot be joined.
    pub fn enter(&self) -> Result<Arc<World>> {
        let mut users = self.users();
        let mut world = self.world.write().unwrap_or_else(PoisonError::into_inner);
        let world = match &mut *world {
            Some(world) => world.clone(),
            None => world.insert(Arc::new(self.start()?)).clone(),
        };
        // If no other library still uses the engine, the job is over, and every call reports it.
        users.has_left = users.has_left && !world.engine().enter();
        users.count += 1;
        Ok(world)
    }

    /// Joins the job. The caller holds the lock of the world, so this function must not check for one.
    fn start(&self) -> Result<World> {
        let errhandler = self.errhandler();
        let tunables = self.settings(None).map_err(canele_engine::Error::from)?;
        let world = World::start(&errhandler, &tunables, self.on_failure)?;
        Ok(world)
    }

    /// Removes a user; the last one after `MPI_Finalize` leaves the job.
    ///
    /// # Errors
    /// Fails if the launcher is gone.
    pub fn leave(&self) -> Result<()> {
        let mut users = self.users();
        users.count -= 1;
        if users.count == 0 && self.is_finalized() { self.finish(&mut users) } else { Ok(()) }
    }

    /// Leaves the job at process exit, if only sessions have used it and none is left.
    pub fn leave_at_exit(&self) {
        let mut users = self.users();
        if users.count == 0 && !self.is_initialized() {
            // There is no caller for the error.
            let _ = self.finish(&mut users);
        }
    }

    fn finish(&self, users: &mut Users) -> Result<()> {
        match &*self.world.read().unwrap_or_else(PoisonError::into_inner) {
            Some(world) if !users.has_left => {
                users.has_left = true;
                world.finish()
            }
            _ => Ok(()),
        }
    }

    /// Initialises the world model, by this thread. `publish` sets up the communicators before any call can
    /// use them.
    ///
    /// # Errors
    /// Fails if it was called before or the job cannot be joined.
    pub fn initialize(&self, threads: ThreadLevel, publish: impl FnOnce(&World)) -> Result<Arc<World>> {
        if self.is_initialized() {
            fail!(Other, "MPI_Init is called a second time: a process initialises MPI once");
        }
        let world = self.enter()?;
        if threads == ThreadLevel::Multiple {
            world.expect_threads();
        }
        publish(&world);
        self.main.get_or_init(|| (threads, std::thread::current().id()));
        self.initialized.store(true, Relaxed);
        Ok(world)
    }

    /// Begins to finalise the world model: deletes the attributes of `MPI_COMM_SELF`.
    ///
    /// # Errors
    /// Fails if the process is not initialised or was finalised, or if a function of the program fails.
    pub fn prepare_end(&self) -> Result<Arc<World>> {
        if !self.is_initialized() || self.is_finalized() {
            let why =
                if self.is_finalized() { "it was finalised before" } else { "it was never initialised" };
            fail!(Other, "MPI cannot be finalised: {why}");
        }
        let world = self.world()?;
        // These callbacks inform parts of the program of the end (MPI 5.0, §11.2.4).
        world.own.attributes().clear(world.own.number())?;
        Ok(world)
    }

    /// Waits for all live ranks to finalise, so that no rank leaves while another one may still need it.
    ///
    /// # Errors
    /// Fails if another rank makes another collective call, if calls are checked.
    pub fn await_ranks(&self, world: &World) -> Result<()> {
        let goes_on = world.engine().goes_on_after_failures();
        world.engine().tell_finalizing();
        match world.world.final_barrier() {
            Err(error) if error.class == Class::NotSame => Err(error),
            // Survivors may still ask for the result of an agreement.
            Err(_) if goes_on => world.world.await_survivors().or(Ok(())),
            _ => Ok(()),
        }
    }

    /// Ends the world model. `withdraw` removes its communicators from the program.
    ///
    /// # Errors
    /// Fails if the launcher is gone.
    pub fn finalize(&self, withdraw: impl FnOnce()) -> Result<()> {
        self.finalized.store(true, Relaxed);
        withdraw();
        self.leave()
    }

    /// Returns the thread level in force; none before the world model is initialised.
    pub fn threads(&self) -> Option<ThreadLevel> {
        self.main.get().map(|(threads, _)| *threads)
    }

    /// Returns true for the thread that initialised the world model.
    pub fn is_main_thread(&self) -> bool {
        self.main.get().is_some_and(|(_, thread)| *thread == std::thread::current().id())
    }
}

/// Applies a changed tunable to an engine.
fn follow(engine: &Engine, name: &str, tunables: &Tunables) -> Result<(), canele_engine::Error> {
    match name {
        "wait" | "spin_ns" | "yields" => engine.set_waits(tunables),
        "strategy" => {
            let name = tunables.strategy;
            engine.set_strategy(move || strategy::named(name).expect("an allowed name"))
        }
        // The other tunables are read when they are used.
        _ => Ok(()),
    }
}
