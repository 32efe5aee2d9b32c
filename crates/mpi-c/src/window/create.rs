//! Making and freeing windows (MPI 5.0, §12.2).

use core::ffi::c_void;
use core::ptr::NonNull;

use canele_engine::RegionMemory;
use canele_mpi::window::{Win, WinMemory};
use canele_mpi::{Class, Error, Result, fail};

use crate::buffer::check_is_of_host;
use crate::comm::create::given;
use crate::constants::MPI_WIN_NULL;
use crate::error::{self, CallResult, Failed, On};
use crate::handle::{MPI_Comm, MPI_Info, MPI_Win, ObjectHandle};
use crate::pointer::{Out, RecvBuffer, SendBuffer};
use crate::width::Count;

fn bytes(size: i64) -> Result<usize> {
    usize::try_from(size)
        .map_err(|_| Error::new(Class::Size, format!("size is {size}: it must not be negative")))
}

fn unit(disp_unit: Count) -> Result<usize> {
    match usize::try_from(disp_unit.value) {
        Ok(unit) if unit > 0 => Ok(unit),
        _ => fail!(Displacement, "disp_unit is {}: it must be positive", disp_unit.value),
    }
}

/// Returns memory of the program for access by others; none for a null pointer with zero bytes.
fn memory(base: RecvBuffer, size: i64) -> Result<Option<RegionMemory>> {
    let len = bytes(size)?;
    check_is_of_host(base, len)?;
    match NonNull::new(base.cast()) {
        // SAFETY: the program keeps the memory as long as it is in the window, and orders its own accesses
        // with those of others, as the standard says; this library makes no references to it meanwhile.
        Some(start) => Ok(Some(unsafe { RegionMemory::of_program(start, len) })),
        None if len == 0 => Ok(None),
        None => fail!(Base, "base is a null pointer, and size is {size}"),
    }
}

/// Makes a window and stores its handle; returns the address of this process's part.
fn create(
    name: &'static str,
    comm: MPI_Comm,
    what: Result<(WinMemory, usize)>,
    info: MPI_Info,
    win: Out<MPI_Win>,
) -> Result<*mut c_void> {
    let made = Win::create(comm.get()?, name, what, &*given(info)?)?;
    let address = core::ptr::with_exposed_provenance_mut(made.address());
    let handle = MPI_Win::new(made.clone())?;
    made.comm().set_number(handle.value());
    win.set(handle, "win")?;
    Ok(address)
}

/// `MPI_Win_create`.
pub fn win_create(
    base: RecvBuffer,
    size: i64,
    disp_unit: Count,
    info: MPI_Info,
    comm: MPI_Comm,
    win: Out<MPI_Win>,
) -> CallResult {
    let given = |memory: Option<RegionMemory>| memory.map_or(WinMemory::Nothing, WinMemory::Program);
    let what = memory(base, size).and_then(|memory| Ok((given(memory), unit(disp_unit)?)));
    create("MPI_Win_create", comm, what, info, win)?;
    Ok(())
}

/// `MPI_Win_allocate`.
pub fn win_allocate(
    size: i64,
    disp_unit: Count,
    info: MPI_Info,
    comm: MPI_Comm,
    baseptr: Out<*mut c_void>,
    win: Out<MPI_Win>,
) -> CallResult {
    let what = bytes(size).and_then(|bytes| Ok((WinMemory::Allocate(bytes), unit(disp_unit)?)));
    Ok(baseptr.set(create("MPI_Win_allocate", comm, what, info, win)?, "baseptr")?)
}

/// `MPI_Win_allocate_shared`.
pub fn win_allocate_shared(
    size: i64,
    disp_unit: Count,
    info: MPI_Info,
    comm: MPI_Comm,
    baseptr: Out<*mut c_void>,
    win: Out<MPI_Win>,
) -> CallResult {
    let what = bytes(size).and_then(|bytes| Ok((WinMemory::Shared(bytes), unit(disp_unit)?)));
    Ok(baseptr.set(create("MPI_Win_allocate_shared", comm, what, info, win)?, "baseptr")?)
}

/// `MPI_Win_create_dynamic`.
pub fn win_create_dynamic(info: MPI_Info, comm: MPI_Comm, win: Out<MPI_Win>) -> CallResult {
    create("MPI_Win_create_dynamic", comm, Ok((WinMemory::Dynamic, 1)), info, win)?;
    Ok(())
}

/// `MPI_Win_attach`.
pub fn win_attach(win: MPI_Win, base: RecvBuffer, size: i64) -> CallResult {
    let win = win.get()?;
    Ok(memory(base, size)?.map_or(Ok(()), |memory| win.attach(memory))?)
}

/// `MPI_Win_detach`.
pub fn win_detach(win: MPI_Win, base: SendBuffer) -> CallResult {
    Ok(win.get()?.detach(base.addr())?)
}

/// `MPI_Win_free`; the place of the handle tells the error handler which window failed.
pub fn win_free(win: Out<MPI_Win>) -> CallResult {
    let handle = win.get("win")?;
    let freed = handle.share()?;
    let end = || {
        freed.check_free()?;
        freed.attributes().clear(freed.comm().number())
    };
    let raised = |error| Failed::Raised(error::raise("MPI_Win_free", On::Win(handle), Failed::Error(error)));
    end().map_err(raised)?;
    let finished = freed.finish().map_err(raised);
    handle.free()?;
    Ok(win.set(MPI_WIN_NULL, "win")?).and(finished)
}
