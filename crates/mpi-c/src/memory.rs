//! Memory for messages and windows (MPI 5.0, §9.2).

use core::ffi::c_void;

use canele_mpi::fail;
use canele_mpi::info::Info;

use crate::error::CallResult;
use crate::handle::MPI_Info;
use crate::infos::said;
use crate::library;
use crate::pointer::{Out, RecvBuffer};

/// `MPI_Alloc_mem`.
pub fn alloc_mem(size: i64, info: MPI_Info, baseptr: Out<*mut c_void>) -> CallResult {
    let Ok(bytes) = usize::try_from(size) else {
        fail!(Argument, "size is {size}: it must not be negative");
    };
    let world = library::world()?;
    let align = said(info)?.map_or(0, Info::alignment);
    let address = world.own.allocated().allocate(world.engine(), bytes, align)?;
    Ok(baseptr.set(address.cast(), "baseptr")?)
}

/// `MPI_Free_mem`.
pub fn free_mem(base: RecvBuffer) -> CallResult {
    if base.is_null() {
        return Ok(());
    }
    let world = library::world()?;
    Ok(world.own.allocated().free(base.addr())?)
}
