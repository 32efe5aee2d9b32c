//! The process in MPI for C: the handles that begin and end with it, and its end after an error.

use core::ffi::c_int;
use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use canele_engine::Engine;
use canele_mpi::{Comm, Process, Result, ThreadLevel, World};
use canele_sys::atomic::{AtomicBool, Ordering::Relaxed};
use canele_sys::device;

use crate::cache;
use crate::constants::*;
use crate::handle::{MPI_Comm, ObjectHandle};
use crate::leaks::{self, UnderWay};
use crate::table::HANDLES;
use crate::{tools, traced};

/// The MPI state of this process.
pub static PROCESS: Process = Process::new(crate::cache::forget);

/// The thread levels with their numbers in the ABI.
const LEVELS: [(c_int, ThreadLevel); 4] = [
    (MPI_THREAD_SINGLE, ThreadLevel::Single),
    (MPI_THREAD_FUNNELED, ThreadLevel::Funneled),
    (MPI_THREAD_SERIALIZED, ThreadLevel::Serialized),
    (MPI_THREAD_MULTIPLE, ThreadLevel::Multiple),
];

/// Returns the level of a number in the ABI.
pub fn thread_level(number: c_int) -> Option<ThreadLevel> {
    LEVELS.iter().find(|(of, _)| *of == number).map(|(_, level)| *level)
}

/// Returns the number of the level in force.
pub fn thread_number() -> c_int {
    let level = PROCESS.threads();
    LEVELS.iter().find(|(_, of)| Some(*of) == level).map_or(MPI_THREAD_SINGLE, |(number, _)| *number)
}

/// Returns the communicators of the process.
///
/// # Errors
/// Fails if the process is not initialised or was finalised.
pub fn world() -> Result<Arc<World>> {
    PROCESS.world()
}

/// Returns the engine, for calls that name no communicator.
///
/// # Errors
/// Fails like [`world`].
#[inline]
pub fn engine() -> Result<&'static Arc<Engine>> {
    PROCESS.engine()
}

/// True after the program has set the handler of `MPI_COMM_WORLD`, or of `MPI_COMM_SELF`.
static WORLD_HANDLER_IS_SET: AtomicBool = AtomicBool::new(false);
static SELF_HANDLER_IS_SET: AtomicBool = AtomicBool::new(false);

/// Notes that the program has set the error handler of a communicator.
pub fn note_errhandler_set(comm: MPI_Comm) {
    // Relaxed, here and below: the flags order no other memory; locks protect the handlers.
    if comm == MPI_COMM_WORLD {
        WORLD_HANDLER_IS_SET.store(true, Relaxed);
    } else if comm == MPI_COMM_SELF {
        SELF_HANDLER_IS_SET.store(true, Relaxed);
    }
}

/// Returns the communicator whose handler gets errors of calls without an object: `MPI_COMM_SELF`. Programs
/// for MPI 3 set only the handler of `MPI_COMM_WORLD`. So that one is used while no other is set.
pub fn comm_of_no_object() -> Option<Arc<Comm>> {
    let is_of_world = WORLD_HANDLER_IS_SET.load(Relaxed) && !SELF_HANDLER_IS_SET.load(Relaxed);
    let comm = if is_of_world { MPI_COMM_WORLD } else { MPI_COMM_SELF };
    comm.share().ok()
}

/// Leaves the job only when the process exits, since a program may start another session at any time until
/// then.
pub fn leave_at_exit() {
    extern "C" fn at_exit() {
        PROCESS.leave_at_exit();
    }
    static ONCE: std::sync::Once = std::sync::Once::new();
    // SAFETY: the function lives as long as the process. If it cannot be registered, the launcher says that
    // the process exited without an end.
    ONCE.call_once(|| unsafe { _ = libc::atexit(at_exit) });
}

/// `MPI_Init` with the thread level that the program requires.
///
/// # Errors
/// Fails if it was called before or the job cannot be joined.
pub fn initialize(threads: ThreadLevel) -> Result<()> {
    canele_engine::find_command_by(crate::dynamic::command::beside_library);
    let world = PROCESS.initialize(threads, |world| {
        for (handle, comm) in [(MPI_COMM_WORLD, &world.world), (MPI_COMM_SELF, &world.own)] {
            comm.set_number(handle.value());
            handle.fix(comm.clone());
        }
        crate::infos::publish_environment();
    })?;
    if let Some(parent) = &world.parent {
        crate::dynamic::spawn::set_parent(publish(parent.clone())?);
    }
    tools::attach(world.engine());
    let is_traced = traced::attach(world.engine());
    // The short paths do not check the kind of a buffer's memory.
    let is_simple = !is_traced && !device::is_asked();
    cache::own::allow(is_simple && !cache::are_several());
    if is_simple && !world.engine().tunables().progress_thread {
        cache::promise(threads);
    }
    Ok(())
}

/// `MPI_Finalize`.
///
/// # Errors
/// Fails if MPI is not initialised or was finalised.
pub fn finalize() -> Result<()> {
    let world = PROCESS.prepare_end()?;
    let under_way = UnderWay::now(&world)?;
    PROCESS.await_ranks(&world)?;
    leaks::tell(&world, under_way)?;
    PROCESS.finalize(|| {
        for handle in [MPI_COMM_WORLD, MPI_COMM_SELF] {
            HANDLES.remove::<Comm>(handle.value());
        }
    })
}

/// Gives the launcher time to end this process after the death of another rank. The launcher does so unless
/// the job continues after failures. It has then reported the death, so that waiting ranks need not report
/// it.
#[cold]
pub fn await_end() {
    let Ok(world) = world() else { return };
    if !world.engine().goes_on_after_failures() {
        // SAFETY: always permitted; what the program has printed is to be seen though the process is killed.
        unsafe { libc::fflush(core::ptr::null_mut()) };
        std::thread::sleep(Duration::from_secs(2));
    }
}

/// The processes that a fatal error ends in a job that continues after failures. In other jobs it ends all.
#[derive(Clone, Copy)]
pub enum Aborted<'a> {
    /// All processes of the job.
    All,
    /// The members of a communicator.
    Members(&'a Comm),
    /// The calling process.
    Own,
}

/// Ends this process and others, after an error or on request of the program.
#[cold]
pub fn abort(text: &str, code: c_int, whom: Aborted<'_>) -> ! {
    let who =
        PROCESS.world_at_hand().map_or("canele".to_owned(), |w| format!("canele: {}", w.engine().rank()));
    let mut error = std::io::stderr().lock();
    // If this fails, too, nothing else can report the error.
    let _ = writeln!(error, "{who}: {}", canele_sys::printable::lines(text));
    drop(error);
    match (whom, PROCESS.world_at_hand()) {
        (Aborted::Members(comm), Some(_)) => comm.abort(status(code)),
        (Aborted::All, Some(world)) => world.engine().abort(None, status(code)),
        (Aborted::Own, _) | (_, None) => {}
    }
    end(code)
}

/// Returns the exit status for an error code; it is never 0.
fn status(code: c_int) -> u8 {
    if code as u8 == 0 { 1 } else { code as u8 }
}

/// Ends this process at once, after flushing its output. The launcher ends the others.
pub fn end(code: c_int) -> ! {
    // SAFETY: both are always permitted; flushing all streams touches only C's own buffers. Functions
    // registered for an orderly exit are not run: they could wait for ranks that wait for this one.
    unsafe {
        libc::fflush(core::ptr::null_mut());
        libc::_exit(c_int::from(status(code)))
    }
}

/// Makes a new handle of a communicator.
///
/// # Errors
/// Fails if all handles are used.
pub fn publish(comm: Arc<Comm>) -> Result<MPI_Comm> {
    let handle = MPI_Comm::new(comm.clone())?;
    comm.set_number(handle.value());
    Ok(handle)
}

/// Assigns the predefined objects to their handles.
pub fn predefine() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        crate::errhandlers::predefine();
        crate::datatype::predefine();
        crate::groups::predefine();
        crate::operations::predefine();
        crate::fortran::predefine();
    });
}
