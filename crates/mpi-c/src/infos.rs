//! Info objects (MPI 5.0, chapter 10).

use core::ffi::{CStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use canele_control::{Host, RankPlace};
use canele_mpi::info::{Environment, Info};
use canele_mpi::{Errhandler, Result, fail};

use crate::constants::*;
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_Info, ObjectHandle};
use crate::library;
use crate::pointer::{In, Out, Text, TextOut};

/// Returns the info of an info argument; none for `MPI_INFO_NULL`.
///
/// # Errors
/// Fails if the handle names no info.
pub fn said(info: MPI_Info) -> Result<Option<&'static Info>> {
    if info == MPI_INFO_NULL { Ok(None) } else { info.get().map(Some) }
}

/// Fails for an info argument that is neither an info object nor `MPI_INFO_NULL`.
///
/// # Errors
/// Fails if the handle names no info.
pub fn check(info: MPI_Info) -> CallResult {
    said(info)?;
    Ok(())
}

/// Returns an info that the program may change.
fn changeable(info: MPI_Info) -> Result<&'static Info> {
    let found = info.get()?;
    if info == MPI_INFO_ENV {
        fail!(Info, "info is MPI_INFO_ENV, which cannot be changed: duplicate it");
    }
    Ok(found)
}

/// Returns a key, whose length the ABI limits, since programs have room for such keys only.
fn key_of<'a>(key: Text) -> Result<&'a [u8]> {
    let key = key.bytes("key")?;
    if key.len() >= MPI_MAX_INFO_KEY as usize {
        let most = MPI_MAX_INFO_KEY - 1;
        fail!(InfoKey, "key has {} bytes; at most {most} are allowed", key.len());
    }
    Ok(key)
}

/// `MPI_Info_create`.
pub fn info_create(info: Out<MPI_Info>) -> CallResult {
    Ok(info.set(MPI_Info::new(Arc::new(Info::new()))?, "info")?)
}

/// `MPI_Info_dup`.
pub fn info_dup(info: MPI_Info, newinfo: Out<MPI_Info>) -> CallResult {
    Ok(newinfo.set(MPI_Info::new(Arc::new(info.get()?.duplicate()))?, "newinfo")?)
}

/// `MPI_Info_free`.
pub fn info_free(info: Out<MPI_Info>) -> CallResult {
    info.get("info")?.free()?;
    Ok(info.set(MPI_INFO_NULL, "info")?)
}

/// `MPI_Info_set`.
pub fn info_set(info: MPI_Info, key: Text, value: Text) -> CallResult {
    let (info, key, value) = (changeable(info)?, key_of(key)?, value.bytes("value")?);
    if value.len() >= MPI_MAX_INFO_VAL as usize {
        let (key, most) = (key.escape_ascii(), MPI_MAX_INFO_VAL - 1);
        fail!(InfoValue, "the value of key {key} has {} bytes; at most {most} are allowed", value.len());
    }
    Ok(info.set(key, value)?)
}

/// `MPI_Info_delete`.
pub fn info_delete(info: MPI_Info, key: Text) -> CallResult {
    Ok(changeable(info)?.delete(key_of(key)?)?)
}

/// `MPI_Info_get`.
pub fn info_get(info: MPI_Info, key: Text, valuelen: c_int, value: TextOut, flag: Out<c_int>) -> CallResult {
    let found = info.get()?.get(key_of(key)?)?;
    let Ok(room) = usize::try_from(valuelen) else {
        fail!(Argument, "valuelen is {valuelen}: it must not be negative");
    };
    flag.set(c_int::from(found.is_some()), "flag")?;
    if let Some(found) = found {
        // The terminating zero is not counted in `valuelen`.
        value.write(found, room + 1, "value")?;
    }
    Ok(())
}

/// `MPI_Info_get_valuelen`.
pub fn info_get_valuelen(info: MPI_Info, key: Text, valuelen: Out<c_int>, flag: Out<c_int>) -> CallResult {
    let found = info.get()?.get(key_of(key)?)?;
    flag.set(c_int::from(found.is_some()), "flag")?;
    match found {
        Some(found) => Ok(valuelen.set(found.len() as c_int, "valuelen")?),
        None => Ok(()),
    }
}

/// `MPI_Info_get_string`.
pub fn info_get_string(
    info: MPI_Info,
    key: Text,
    buflen: Out<c_int>,
    value: TextOut,
    flag: Out<c_int>,
) -> CallResult {
    let found = info.get()?.get(key_of(key)?)?;
    let len = buflen.get("buflen")?;
    let Ok(room) = usize::try_from(len) else {
        fail!(Argument, "buflen is {len}: it must not be negative");
    };
    flag.set(c_int::from(found.is_some()), "flag")?;
    if let Some(found) = found {
        value.write(&found, room, "value")?;
        buflen.set(found.len() as c_int + 1, "buflen")?;
    }
    Ok(())
}

/// `MPI_Info_get_nkeys`.
pub fn info_get_nkeys(info: MPI_Info, nkeys: Out<c_int>) -> CallResult {
    Ok(nkeys.set(info.get()?.len() as c_int, "nkeys")?)
}

/// `MPI_Info_get_nthkey`.
pub fn info_get_nthkey(info: MPI_Info, n: c_int, key: TextOut) -> CallResult {
    key.write(info.get()?.nth_key(n)?, MPI_MAX_INFO_KEY as usize, "key")?;
    Ok(())
}

/// `MPI_Info_create_env`.
pub fn info_create_env(argc: c_int, argv: In<*const c_char>, info: Out<MPI_Info>) -> CallResult {
    let count = if argv.address() == 0 { 0 } else { usize::try_from(argc).unwrap_or(0) };
    // SAFETY: the standard asks for the arguments of `main`; those of a place that was left empty are passed
    // over.
    let text = |at: &*const c_char| (!at.is_null()).then(|| unsafe { CStr::from_ptr(*at) }.to_bytes());
    let arguments: Vec<&[u8]> = argv.slice(count, "argv")?.iter().filter_map(text).collect();
    Ok(info.set(MPI_Info::new(Arc::new(environment(&arguments)))?, "info")?)
}

/// Assigns an object to `MPI_INFO_ENV`.
pub(crate) fn publish_environment() {
    let arguments: Vec<_> = std::env::args_os().collect();
    let arguments: Vec<&[u8]> = arguments.iter().map(|argument| argument.as_bytes()).collect();
    MPI_INFO_ENV.fix(Arc::new(environment(&arguments)));
}

/// Returns the start parameters of the program, which are also available before and after MPI is active.
fn environment(arguments: &[&[u8]]) -> Info {
    let (host, directory) = (Host::this(1), std::env::current_dir().ok());
    // The start of the engine reports wrong settings.
    let (kinds, errhandler) = library::PROCESS
        .tunables()
        .map_or((String::new(), ""), |tunables| (tunables.mpi_memory_alloc_kinds, tunables.mpi_errhandler));
    let known = Environment {
        command: arguments.first().copied(),
        arguments: arguments.get(1..).unwrap_or_default(),
        max_procs: Some(RankPlace::from_env().size as usize),
        host: Some(host.name.as_bytes()),
        arch: Some(std::env::consts::ARCH.as_bytes()),
        initial_errhandler: Errhandler::initial(errhandler).initial_name().map(str::as_bytes),
        memory_alloc_kinds: (!kinds.is_empty()).then_some(kinds.as_bytes()),
        wdir: directory.as_ref().map(|path| path.as_os_str().as_bytes()),
    };
    known.info()
}

/// `MPI_Comm_set_info`.
pub fn comm_set_info(comm: MPI_Comm, info: MPI_Info) -> CallResult {
    let comm = comm.get()?;
    if let Some(info) = said(info)? {
        comm.update_info(info);
    }
    Ok(())
}

/// `MPI_Comm_get_info`.
pub fn comm_get_info(comm: MPI_Comm, info_used: Out<MPI_Info>) -> CallResult {
    Ok(info_used.set(MPI_Info::new(Arc::new(comm.get()?.hints()))?, "info_used")?)
}
