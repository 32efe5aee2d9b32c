//! A process's life in MPI: when it joins the job, who uses it, when it leaves (MPI 5.0, §11.2, §11.3).
//!
//! ```text
//!   MPI_Init ────────▶ initialized ──▶ MPI_Finalize: finalized
//!   MPI_Session_init ─▶ one more user ──▶ MPI_Session_finalize: one less
//!
//!   the first user joins the job; the last one after MPI_Finalize leaves it
//! ```
//! An edge has one instance of it.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};
use std::thread::ThreadId;

use canele_engine::{Engine, strategy};
use canele_sys::atomic::{AtomicBool, Ordering::Relaxed};
use canele_sys::tunables::{STRATEGIES, Settable, TunableError, TunableRow, Tunables};

use crate::errhandler::Errhandler;
use crate::world::World;
use crate::{Class, Result, fail};

/// Which threads of a program may call MPI (MPI 5.0, §11.6.2), in rising order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ThreadLevel {
    /// There is one thread.
    Single,
    /// The main thread.
    Funneled,
    /// Any thread, one at a time.
    Serialized,
    /// Any thread at any time.
    Multiple,
}

/// A process's life in MPI.
pub struct Process {
    initialized: AtomicBool,
    finalized: AtomicBool,
    /// The level of threads, and the thread that initialised.
    main: OnceLock<(ThreadLevel, ThreadId)>,
    /// What the process has, from the first user on.
    world: RwLock<Option<Arc<World>>>,
    engine: OnceLock<Arc<Engine>>,
    users: Mutex<Users>,
    errhandler: OnceLock<Arc<Errhandler>>,
    /// Tunables that tools have set, with their values, in the order in which they did.
    changes: Mutex<Vec<(&'static str, String)>>,
    /// Called when a communicator was revoked or a rank has died, from within any call.
    on_failure: fn(),
}

/// Who uses the engine by this library.
struct Users {
    /// Those who have initialised and not finalised: the world model and sessions.
    count: usize,
    /// The library has left the job.
    has_left: bool,
}

/// Why a tunable was not set.
#[derive(Debug)]
pub enum NotSet {
    /// A rank can never change it.
    Never,
    /// It is too late to change it, or another thread is just joining the job.
    NotNow,
    /// It cannot have this value.
    Value(TunableError),
}

impl Process {
    /// Returns a process that has not begun. `on_failure` is called whenever a communicator was revoked or a rank has
    /// died; it must not call the library.
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

    /// True once `MPI_Init` has succeeded.
    pub fn is_initialized(&self) -> bool {
        // Relaxed, here and below: a flag on its own; what it speaks of is behind locks.
        self.initialized.load(Relaxed)
    }

    /// True once `MPI_Finalize` has succeeded.
    pub fn is_finalized(&self) -> bool {
        self.finalized.load(Relaxed)
    }

    /// Returns what the process has.
    ///
    /// # Errors
    /// It has not been initialised, or was finalised.
    pub fn world(&self) -> Result<Arc<World>> {
        match &*self.world.read().unwrap_or_else(PoisonError::into_inner) {
            Some(world) => Ok(world.clone()),
            None if self.is_finalized() => fail!(Other, "MPI was finalised: this call comes too late"),
            None => fail!(Other, "MPI is not initialised: call MPI_Init or MPI_Session_init first"),
        }
    }

    /// Returns what the process has, unless another thread is just changing that; for a process that is about to end.
    pub fn world_at_hand(&self) -> Option<Arc<World>> {
        self.world.try_read().ok().and_then(|world| world.clone())
    }

    /// Returns the engine under all, for calls that name no communicator.
    ///
    /// # Errors
    /// As [`Self::world`].
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

    /// Returns the error handler before there is any communicator, and after.
    pub fn errhandler(&self) -> Arc<Errhandler> {
        // What is wrong with the settings the start of the engine says.
        let value = || self.settings(None).map_or("", |tunables| tunables.mpi_errhandler);
        self.errhandler.get_or_init(|| Arc::new(Errhandler::initial(value()))).clone()
    }

    fn changes(&self) -> MutexGuard<'_, Vec<(&'static str, String)>> {
        self.changes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The settings of an engine, or before its start those of the environment, with what tools have set.
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

    /// Returns the tunables with their values in force; before the process joins its job those with which it would.
    ///
    /// # Errors
    /// A variable of the environment is unknown or out of range.
    pub fn tunables(&self) -> Result<Tunables, TunableError> {
        let Some(world) = self.world_at_hand() else { return self.settings(None) };
        let engine = world.engine();
        let mut tunables = self.settings(Some(engine))?;
        if !engine.is_inside()
            && let Ok(strategy) = engine.ask(|view| view.strategy().to_owned())
            && let Some(strategy) = STRATEGIES.iter().find(|name| **name == strategy)
        {
            // A program that has a job of the own API may have chosen another one.
            tunables.strategy = strategy;
        }
        Ok(tunables)
    }

    /// Sets a tunable for this process, for its start or, if it has joined its job, from now on.
    ///
    /// # Errors
    /// See [`NotSet`].
    pub fn set_tunable(&self, row: &TunableRow, value: &str) -> Result<(), NotSet> {
        if row.settable() == Settable::Never {
            return Err(NotSet::Never);
        }
        // Another thread that has it is just joining the job.
        let Ok(world) = self.world.try_read() else { return Err(NotSet::NotNow) };
        let Some(engine) = world.as_ref().map(|world| world.engine().clone()) else {
            // Held until the value is set, so that the process does not join its job in between.
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

    /// Remembers the value of a tunable, if it may have it; returns the settings with it.
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

    /// Adds a user; the first joins the job.
    ///
    /// # Errors
    /// The job cannot be joined.
    pub fn enter(&self) -> Result<Arc<World>> {
        let mut users = self.users();
        let mut world = self.world.write().unwrap_or_else(PoisonError::into_inner);
        let world = match &mut *world {
            Some(world) => world.clone(),
            None => world.insert(Arc::new(self.start()?)).clone(),
        };
        // Where no other library uses the engine, the job is over: every call says so.
        users.has_left = users.has_left && !world.engine().enter();
        users.count += 1;
        Ok(world)
    }

    /// Joins the job. Its caller holds the lock of the world, so nothing here looks whether there is one.
    fn start(&self) -> Result<World> {
        let errhandler = self.errhandler();
        let tunables = self.settings(None).map_err(canele_engine::Error::from)?;
        let world = World::start(&errhandler, &tunables, self.on_failure)?;
        Ok(world)
    }

    /// Takes a user away; the last after `MPI_Finalize` leaves the job.
    ///
    /// # Errors
    /// The launcher is gone.
    pub fn leave(&self) -> Result<()> {
        let mut users = self.users();
        users.count -= 1;
        if users.count == 0 && self.is_finalized() { self.finish(&mut users) } else { Ok(()) }
    }

    /// Leaves the job if only sessions have used it, and none is left; called as the process exits.
    pub fn leave_at_exit(&self) {
        let mut users = self.users();
        if users.count == 0 && !self.is_initialized() {
            // No caller is left to be told.
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

    /// Initialises the world model, by this thread. `publish` makes the communicators known before any call can ask for them.
    ///
    /// # Errors
    /// It was called before; the job cannot be joined.
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

    /// Begins to finalise the world model: attributes of `MPI_COMM_SELF` are deleted.
    ///
    /// # Errors
    /// It is not initialised, or was finalised before; a function of the program's failed.
    pub fn prepare_end(&self) -> Result<Arc<World>> {
        if !self.is_initialized() || self.is_finalized() {
            let why =
                if self.is_finalized() { "it was finalised before" } else { "it was never initialised" };
            fail!(Other, "MPI cannot be finalised: {why}");
        }
        let world = self.world()?;
        // Parts of the program learn in this way that the end has come (MPI 5.0, §11.2.4).
        world.own.attributes().clear(world.own.number())?;
        Ok(world)
    }

    /// Waits for all ranks that are about to finalise: none leaves while another may still want something of it. Ranks that are gone
    /// are not waited for.
    ///
    /// # Errors
    /// Another rank makes a collective call instead, and that is looked for.
    pub fn await_ranks(&self, world: &World) -> Result<()> {
        let goes_on = world.engine().goes_on_after_failures();
        world.engine().tell_finalizing();
        match world.world.barrier("MPI_Finalize") {
            Err(error) if error.class == Class::NotSame => Err(error),
            // Those that are left may still ask what they agreed on.
            Err(_) if goes_on => world.world.await_survivors().or(Ok(())),
            _ => Ok(()),
        }
    }

    /// Ends the world model. `withdraw` takes its communicators from the program.
    ///
    /// # Errors
    /// The launcher is gone.
    pub fn finalize(&self, withdraw: impl FnOnce()) -> Result<()> {
        self.finalized.store(true, Relaxed);
        withdraw();
        self.leave()
    }

    /// Returns the level of threads in force, none before the world model is initialised.
    pub fn threads(&self) -> Option<ThreadLevel> {
        self.main.get().map(|(threads, _)| *threads)
    }

    /// True for the thread that initialised the world model.
    pub fn is_main_thread(&self) -> bool {
        self.main.get().is_some_and(|(_, thread)| *thread == std::thread::current().id())
    }
}

/// Has an engine follow a tunable that has changed.
fn follow(engine: &Engine, name: &str, tunables: &Tunables) -> Result<(), canele_engine::Error> {
    match name {
        "wait" | "spin_ns" | "yields" => engine.set_waits(tunables),
        "strategy" => {
            let name = tunables.strategy;
            engine.set_strategy(move || strategy::named(name).expect("an allowed name"))
        }
        // What is left is looked at when it is needed.
        _ => Ok(()),
    }
}
