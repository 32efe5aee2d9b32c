//! Initialising, finalising and querying the library (MPI 5.0, chapters 9 and 11).

use core::ffi::{c_char, c_double, c_int};

use canele_mpi::{ThreadLevel, fail};
use layout::{ABI, NAMED_FIRST};

use crate::constants::*;
use crate::error::CallResult;
use crate::handle::{MPI_Comm, ObjectHandle};
use crate::library::{self, Aborted, PROCESS};
use crate::pointer::{Out, TextOut};

/// The arguments of `main`, which the library leaves unchanged: the launcher uses other ways.
pub type Arguments = *mut *mut *mut c_char;

/// `MPI_Init`.
pub fn init(_argc: *mut c_int, _argv: Arguments) -> CallResult {
    library::predefine();
    Ok(library::initialize(ThreadLevel::Single)?)
}

/// `MPI_Init_thread`.
pub fn init_thread(_argc: *mut c_int, _argv: Arguments, required: c_int, provided: Out<c_int>) -> CallResult {
    library::predefine();
    let Some(level) = library::thread_level(required) else {
        fail!(Argument, "required is {required}: it is one of the MPI_THREAD_ levels");
    };
    library::initialize(level)?;
    Ok(provided.set(required, "provided")?)
}

/// `MPI_Finalize`.
pub fn finalize() -> CallResult {
    Ok(library::finalize()?)
}

/// `MPI_Initialized`.
pub fn initialized(flag: Out<c_int>) -> CallResult {
    Ok(flag.set(c_int::from(PROCESS.is_initialized()), "flag")?)
}

/// `MPI_Finalized`.
pub fn finalized(flag: Out<c_int>) -> CallResult {
    Ok(flag.set(c_int::from(PROCESS.is_finalized()), "flag")?)
}

/// `MPI_Query_thread`.
pub fn query_thread(provided: Out<c_int>) -> CallResult {
    library::world()?;
    Ok(provided.set(library::thread_number(), "provided")?)
}

/// `MPI_Is_thread_main`.
pub fn is_thread_main(flag: Out<c_int>) -> CallResult {
    Ok(flag.set(c_int::from(PROCESS.is_main_thread()), "flag")?)
}

/// `MPI_Abort`.
pub fn abort(comm: MPI_Comm, errorcode: c_int) -> CallResult {
    let comm = comm.get().ok();
    let by = comm.map_or(String::new(), |comm| {
        let name = comm.name();
        let name = if name.is_empty() { "a communicator without a name" } else { &*name };
        format!(" by rank {} of {name}", comm.rank())
    });
    let whom = comm.map_or(Aborted::All, Aborted::Members);
    library::abort(&format!("MPI_Abort was called{by} with error code {errorcode}"), errorcode, whom)
}

/// `MPI_Get_version`.
pub fn get_version(version: Out<c_int>, subversion: Out<c_int>) -> CallResult {
    version.set(MPI_VERSION, "version")?;
    Ok(subversion.set(MPI_SUBVERSION, "subversion")?)
}

/// `MPI_Get_library_version`.
pub fn get_library_version(version: TextOut, resultlen: Out<c_int>) -> CallResult {
    let text = format!("{NAMED_FIRST}Canelé {}, MPI 5.0, {ABI}", env!("CARGO_PKG_VERSION"));
    let len = version.write(text, MPI_MAX_LIBRARY_VERSION_STRING as usize, "version")?;
    Ok(resultlen.set(len as c_int, "resultlen")?)
}

/// `MPI_Get_processor_name`.
pub fn get_processor_name(name: TextOut, resultlen: Out<c_int>) -> CallResult {
    let host = library::world()?.host();
    let len = name.write(&host, MPI_MAX_PROCESSOR_NAME as usize, "name")?;
    Ok(resultlen.set(len as c_int, "resultlen")?)
}

/// `MPI_Pcontrol`.
pub fn pcontrol(_level: c_int) -> CallResult {
    Ok(())
}

/// `MPI_Abi_get_version`.
pub fn abi_get_version(abi_major: Out<c_int>, abi_minor: Out<c_int>) -> CallResult {
    abi_major.set(MPI_ABI_VERSION, "abi_major")?;
    Ok(abi_minor.set(MPI_ABI_SUBVERSION, "abi_minor")?)
}

/// Returns the seconds since some moment in the past; all processes of a host share the clock.
pub fn wtime() -> c_double {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the time; the clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    seconds(now)
}

/// Returns the resolution of `MPI_Wtime` in seconds.
pub fn wtick() -> c_double {
    let mut tick = libc::timespec { tv_sec: 0, tv_nsec: 1 };
    // SAFETY: a place for the resolution; the clock always exists.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &raw mut tick) };
    seconds(tick)
}

fn seconds(time: libc::timespec) -> c_double {
    time.tv_sec as c_double + time.tv_nsec as c_double * 1e-9
}
