//! Initialising, finalising, and asking about the library (MPI 5.0, chapters 9 and 11).

use core::ffi::{c_char, c_double, c_int};

use canele_mpi::fail;
use canele_mpi_macros::mpi;

use crate::constants::*;
use crate::error::Outcome;
use crate::handle::MPI_Comm;
use crate::library;
use crate::pointer::{Out, Room};

/// The arguments of `main`, which need not be changed: the launcher says everything by other ways.
type Arguments = *mut *mut *mut c_char;

#[mpi]
fn MPI_Init(_argc: *mut c_int, _argv: Arguments) -> Outcome {
    library::predefine();
    Ok(library::initialize(MPI_THREAD_SINGLE)?)
}

#[mpi]
fn MPI_Init_thread(_argc: *mut c_int, _argv: Arguments, required: c_int, provided: Out<c_int>) -> Outcome {
    library::predefine();
    let levels = [MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE];
    if !levels.contains(&required) {
        fail!(Argument, "required is {required}: it is one of the MPI_THREAD_ levels");
    }
    library::initialize(required)?;
    Ok(provided.set(required, "provided")?)
}

#[mpi]
fn MPI_Finalize() -> Outcome {
    Ok(library::finalize()?)
}

#[mpi]
fn MPI_Initialized(flag: Out<c_int>) -> Outcome {
    Ok(flag.set(c_int::from(library::is_initialized()), "flag")?)
}

#[mpi]
fn MPI_Finalized(flag: Out<c_int>) -> Outcome {
    Ok(flag.set(c_int::from(library::is_finalized()), "flag")?)
}

#[mpi]
fn MPI_Query_thread(provided: Out<c_int>) -> Outcome {
    library::world()?;
    Ok(provided.set(library::threads(), "provided")?)
}

#[mpi]
fn MPI_Is_thread_main(flag: Out<c_int>) -> Outcome {
    Ok(flag.set(c_int::from(library::is_main_thread()), "flag")?)
}

#[mpi]
fn MPI_Abort(comm: MPI_Comm, errorcode: c_int) -> Outcome {
    let by = comm.get().map_or(String::new(), |comm| {
        let name = comm.name();
        let name = if name.is_empty() { "a communicator without a name" } else { &*name };
        format!(" by rank {} of {name}", comm.rank())
    });
    library::abort(&format!("MPI_Abort was called{by} with error code {errorcode}"), errorcode)
}

#[mpi]
fn MPI_Get_version(version: Out<c_int>, subversion: Out<c_int>) -> Outcome {
    version.set(MPI_VERSION, "version")?;
    Ok(subversion.set(MPI_SUBVERSION, "subversion")?)
}

#[mpi]
fn MPI_Get_library_version(version: Room, resultlen: Out<c_int>) -> Outcome {
    let text = concat!("Canelé ", env!("CARGO_PKG_VERSION"), ", MPI 5.0, standard ABI 1.0");
    let len = version.write(text, MPI_MAX_LIBRARY_VERSION_STRING as usize, "version")?;
    Ok(resultlen.set(len as c_int, "resultlen")?)
}

#[mpi]
fn MPI_Get_processor_name(name: Room, resultlen: Out<c_int>) -> Outcome {
    let host = library::world()?.host();
    let len = name.write(&host, MPI_MAX_PROCESSOR_NAME as usize, "name")?;
    Ok(resultlen.set(len as c_int, "resultlen")?)
}

#[mpi]
fn MPI_Pcontrol(_level: c_int) -> Outcome {
    Ok(())
}

#[mpi]
fn MPI_Abi_get_version(abi_major: Out<c_int>, abi_minor: Out<c_int>) -> Outcome {
    abi_major.set(MPI_ABI_VERSION, "abi_major")?;
    Ok(abi_minor.set(MPI_ABI_SUBVERSION, "abi_minor")?)
}

/// Seconds since some moment in the past, the same for all processes of a host.
#[mpi(plain)]
fn MPI_Wtime() -> c_double {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a place for the time; the clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    seconds(now)
}

/// The resolution of `MPI_Wtime` in seconds.
#[mpi(plain)]
fn MPI_Wtick() -> c_double {
    let mut tick = libc::timespec { tv_sec: 0, tv_nsec: 1 };
    // SAFETY: a place for the resolution; the clock always exists.
    unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &raw mut tick) };
    seconds(tick)
}

fn seconds(time: libc::timespec) -> c_double {
    time.tv_sec as c_double + time.tv_nsec as c_double * 1e-9
}
