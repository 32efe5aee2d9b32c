//! The process's life in MPI as the edge sees it: whether it has begun, what it has, how it ends.

use core::ffi::c_int;
use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use canele_control::OnFailure;
use canele_engine::Engine;
use canele_mpi::{Comm, Errhandler, Result, World, fail};
use canele_sys::atomic::{AtomicU32, Ordering::Relaxed};
use canele_sys::tunables::Tunables;

use crate::constants::{MPI_COMM_SELF, MPI_COMM_WORLD, MPI_THREAD_MULTIPLE};
use crate::deferred_recv;
use crate::handle::{COMMS, ERRHANDLERS, MPI_Comm};
use crate::leaks::{self, UnderWay};

/// The world model: `MPI_Init` has been called, `MPI_Finalize` has.
static INITIALIZED: AtomicU32 = AtomicU32::new(0);
static FINALIZED: AtomicU32 = AtomicU32::new(0);
static THREADS: AtomicU32 = AtomicU32::new(0);
static MAIN: OnceLock<std::thread::ThreadId> = OnceLock::new();

/// What the process has, from the first initialisation to its end.
static WORLD: RwLock<Option<Arc<World>>> = RwLock::new(None);
/// Those who have initialised and not finalised: the world model and sessions.
static USERS: Mutex<usize> = Mutex::new(0);

/// Whether `MPI_Init` has been called.
pub fn is_initialized() -> bool {
    INITIALIZED.load(Relaxed) != 0
}

/// Whether `MPI_Finalize` has been called.
pub fn is_finalized() -> bool {
    FINALIZED.load(Relaxed) != 0
}

/// What the process has.
///
/// # Errors
/// It has not been initialised, or was finalised.
pub fn world() -> Result<Arc<World>> {
    match &*WORLD.read().unwrap_or_else(PoisonError::into_inner) {
        Some(world) => Ok(world.clone()),
        None if is_finalized() => fail!(Other, "MPI was finalised: this call comes too late"),
        None => fail!(Other, "MPI is not initialised: call MPI_Init or MPI_Session_init first"),
    }
}

/// The engine under all, for calls that name no communicator.
///
/// # Errors
/// As [`world`].
#[inline]
pub fn engine() -> Result<&'static Arc<Engine>> {
    static ENGINE: OnceLock<Arc<Engine>> = OnceLock::new();
    match ENGINE.get() {
        Some(engine) => Ok(engine),
        None => {
            let engine = world()?.engine().clone();
            Ok(ENGINE.get_or_init(|| engine))
        }
    }
}

/// `MPI_COMM_SELF`, whose handler is told of errors of calls without an object.
pub fn own_comm() -> Option<Arc<Comm>> {
    COMMS.share(MPI_COMM_SELF.value())
}

/// The handler before there is any communicator, and after.
pub fn first_errhandler() -> Arc<Errhandler> {
    static FIRST: OnceLock<Arc<Errhandler>> = OnceLock::new();
    let read = || match Tunables::from_env().map(|tunables| tunables.mpi_errhandler) {
        Ok("return") => Errhandler::Return,
        Ok("abort") => Errhandler::Abort,
        // What is wrong with the settings the start of the engine says.
        _ => Errhandler::Fatal,
    };
    FIRST.get_or_init(|| Arc::new(read())).clone()
}

/// Somebody begins to use MPI: the first joins the job.
///
/// # Errors
/// The job cannot be joined.
pub fn enter() -> Result<Arc<World>> {
    let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut world = WORLD.write().unwrap_or_else(PoisonError::into_inner);
    let world = match &mut *world {
        Some(world) => world.clone(),
        None => world.insert(Arc::new(World::start(&first_errhandler())?)).clone(),
    };
    *users += 1;
    Ok(world)
}

/// Somebody has ended; the last after `MPI_Finalize` leaves the job.
///
/// # Errors
/// The launcher is gone.
pub fn leave() -> Result<()> {
    let mut users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
    *users -= 1;
    if *users == 0 && is_finalized() { finish() } else { Ok(()) }
}

fn finish() -> Result<()> {
    match &*WORLD.read().unwrap_or_else(PoisonError::into_inner) {
        Some(world) => world.finish(),
        None => Ok(()),
    }
}

/// A program that has sessions only may begin another one whenever it likes: it leaves the job as it exits.
pub fn leave_at_exit() {
    extern "C" fn at_exit() {
        let users = USERS.lock().unwrap_or_else(PoisonError::into_inner);
        if *users == 0 && !is_initialized() {
            // Nobody is left to be told.
            let _ = finish();
        }
    }
    static ONCE: std::sync::Once = std::sync::Once::new();
    // SAFETY: the function lives as long as the process. If it cannot be registered, the launcher says that the process
    // exited without an end.
    ONCE.call_once(|| unsafe { _ = libc::atexit(at_exit) });
}

/// `MPI_Init` with the level of threads that the program wants.
///
/// # Errors
/// It was called before; the job cannot be joined.
pub fn initialize(threads: c_int) -> Result<()> {
    if is_initialized() {
        fail!(Other, "MPI_Init is called a second time: a process initialises MPI once");
    }
    let world = enter()?;
    for (handle, comm) in [(MPI_COMM_WORLD, &world.world), (MPI_COMM_SELF, &world.own)] {
        comm.set_number(handle.value());
        COMMS.fix(handle.value(), comm.clone());
    }
    THREADS.store(threads as u32, Relaxed);
    crate::infos::publish_environment();
    MAIN.get_or_init(|| std::thread::current().id());
    INITIALIZED.store(1, Relaxed);
    if threads < MPI_THREAD_MULTIPLE && !world.engine().tunables().progress_thread {
        deferred_recv::allow();
    }
    Ok(())
}

/// `MPI_Finalize`.
///
/// # Errors
/// MPI is not initialised, or was finalised before.
pub fn finalize() -> Result<()> {
    if !is_initialized() || is_finalized() {
        let why = if is_finalized() { "it was finalised before" } else { "it was never initialised" };
        fail!(Other, "MPI cannot be finalised: {why}");
    }
    // Parts of the program learn in this way that the end has come (MPI 5.0, §11.2.4).
    let own = world()?.own.clone();
    own.attributes().clear(own.number())?;
    let under_way = UnderWay::now(&*world()?)?;
    // Nobody leaves while another rank may still want something of it. Whoever is gone is not waited for.
    let _ = world()?.world.barrier();
    leaks::tell(&*world()?, under_way)?;
    FINALIZED.store(1, Relaxed);
    for handle in [MPI_COMM_WORLD, MPI_COMM_SELF] {
        COMMS.remove(handle.value());
    }
    leave()
}

/// The level of threads in force, as the ABI's constant.
pub fn threads() -> c_int {
    THREADS.load(Relaxed) as c_int
}

/// Whether this thread is the one that initialised.
pub fn is_main_thread() -> bool {
    MAIN.get() == Some(&std::thread::current().id())
}

/// Gives the launcher time to end this process, after the death of another rank: it does so unless the job is to go on, and
/// has told of that death, so that those who waited for the dead have nothing to add.
#[cold]
pub fn await_end() {
    let Ok(world) = world() else { return };
    if world.engine().job().on_failure == OnFailure::Stop {
        // SAFETY: always permitted; what the program has printed is to be seen though the process is killed.
        unsafe { libc::fflush(core::ptr::null_mut()) };
        std::thread::sleep(Duration::from_secs(2));
    }
}

/// Ends this process, and so the job, because of an error that is fatal.
#[cold]
pub fn abort(text: &str, code: c_int) -> ! {
    let world = WORLD.try_read().ok().and_then(|world| world.clone());
    let who = world.map_or("canele".to_owned(), |w| format!("canele: {}", w.engine().rank()));
    let mut error = std::io::stderr().lock();
    // Nothing is left to be done if even that fails.
    let _ = writeln!(error, "{who}: {text}");
    drop(error);
    end(code)
}

/// Ends this process at once; what it has printed is written first. The launcher ends the others.
pub fn end(code: c_int) -> ! {
    // SAFETY: both are always permitted; flushing all streams touches only C's own buffers. Functions registered for an
    // orderly exit are not run: they could wait for ranks that wait for this one.
    unsafe {
        libc::fflush(core::ptr::null_mut());
        // A status of 0 would say that all is well.
        libc::_exit(if code & 0xff == 0 { 1 } else { code & 0xff })
    }
}

/// A new handle of a communicator.
///
/// # Errors
/// All handles are used.
pub fn publish(comm: Arc<Comm>) -> Result<MPI_Comm> {
    let handle = MPI_Comm::new(comm.clone())?;
    comm.set_number(handle.value());
    Ok(handle)
}

/// Gives the predefined objects their handles.
pub fn predefine() {
    use crate::constants::{MPI_ERRORS_ABORT, MPI_ERRORS_ARE_FATAL, MPI_ERRORS_RETURN};
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        for (handle, handler) in [
            (MPI_ERRORS_ARE_FATAL, Errhandler::Fatal),
            (MPI_ERRORS_ABORT, Errhandler::Abort),
            (MPI_ERRORS_RETURN, Errhandler::Return),
        ] {
            ERRHANDLERS.fix(handle.value(), Arc::new(handler));
        }
        crate::datatype::predefine();
        crate::groups::predefine();
        crate::operations::predefine();
    });
}
