//! Process failures: functions beyond the standard, according to *User Level Failure Mitigation* and Open MPI
//! (`mpi-ext.h`).

use core::ffi::c_int;
use std::sync::Arc;

use canele_mpi::group::Group;
use canele_mpi::{Comm, Result, fail};

use crate::comm::create::give;
use crate::constants::{MPI_COMM_NULL, MPI_GROUP_EMPTY};
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_File, MPI_Group, MPI_Request, MPI_Win, ObjectHandle};
use crate::library::publish;
use crate::point::start;
use crate::pointer::Out;

/// `MPIX_Comm_revoke`.
pub fn comm_revoke(comm: MPI_Comm) -> CallResult {
    Ok(comm.get()?.revoke()?)
}

/// Stores true if a communicator is revoked.
fn give_revoked(comm: &Comm, flag: Out<c_int>) -> CallResult {
    // Revocations by other members are read first.
    comm.engine().poll()?;
    Ok(flag.set(c_int::from(comm.is_revoked()?), "flag")?)
}

/// `MPIX_Comm_is_revoked`.
pub fn comm_is_revoked(comm: MPI_Comm, flag: Out<c_int>) -> CallResult {
    give_revoked(comm.get()?, flag)
}

/// Stores a handle of a group; the constant if it is empty.
fn give_group(group: Group, newgroup: Out<MPI_Group>, what: &str) -> CallResult {
    let handle = if group.is_empty() { MPI_GROUP_EMPTY } else { MPI_Group::new(Arc::new(group))? };
    Ok(newgroup.set(handle, what)?)
}

/// `MPIX_Comm_get_failed`.
pub fn comm_get_failed(comm: MPI_Comm, failedgrp: Out<MPI_Group>) -> CallResult {
    let comm = comm.get()?;
    comm.engine().poll()?;
    give_group(comm.failed()?, failedgrp, "failedgrp")
}

/// `MPIX_Comm_ack_failed`.
pub fn comm_ack_failed(comm: MPI_Comm, num_to_ack: c_int, num_acked: Out<c_int>) -> CallResult {
    let Ok(most) = usize::try_from(num_to_ack) else {
        fail!(Argument, "num_to_ack is {num_to_ack}: it must not be negative");
    };
    let acknowledged = comm.get()?.acknowledge_failed(most)?;
    Ok(num_acked.set(acknowledged as c_int, "num_acked")?)
}

/// `MPIX_Comm_failure_ack`.
pub fn comm_failure_ack(comm: MPI_Comm) -> CallResult {
    let comm = comm.get()?;
    comm.engine().poll()?;
    comm.acknowledge_failed(usize::MAX)?;
    Ok(())
}

/// `MPIX_Comm_failure_get_acked`.
pub fn comm_failure_get_acked(comm: MPI_Comm, failedgrp: Out<MPI_Group>) -> CallResult {
    give_group(comm.get()?.acknowledged()?, failedgrp, "failedgrp")
}

/// `MPIX_Win_revoke`.
pub fn win_revoke(win: MPI_Win) -> CallResult {
    Ok(win.get()?.revoke()?)
}

/// `MPIX_Win_is_revoked`.
pub fn win_is_revoked(win: MPI_Win, flag: Out<c_int>) -> CallResult {
    give_revoked(win.get()?.comm(), flag)
}

/// `MPIX_File_revoke`.
pub fn file_revoke(file: MPI_File) -> CallResult {
    Ok(file.get()?.revoke()?)
}

/// `MPIX_File_is_revoked`.
pub fn file_is_revoked(file: MPI_File, flag: Out<c_int>) -> CallResult {
    give_revoked(file.get()?.comm(), flag)
}

/// `MPIX_Win_get_failed`.
pub fn win_get_failed(win: MPI_Win, failedgrp: Out<MPI_Group>) -> CallResult {
    let comm = win.get()?.comm();
    comm.engine().poll()?;
    give_group(comm.failed()?, failedgrp, "failedgrp")
}

/// Returns a function that stores the agreed flags at the program's place.
fn store_flags(flag: Out<c_int>) -> impl FnOnce(u32) -> Result<()> + Send + 'static {
    let place = flag.address().expose_provenance();
    move |agreed| Out::<c_int>::at(place).set(agreed.cast_signed(), "flag")
}

/// `MPIX_Comm_agree`.
pub fn comm_agree(comm: MPI_Comm, flag: Out<c_int>) -> CallResult {
    let flags = flag.get("flag")?.cast_unsigned();
    Ok(comm.share()?.agree_on_flags(flags, Box::new(store_flags(flag)))?)
}

/// `MPIX_Comm_iagree`.
pub fn comm_iagree(comm: MPI_Comm, flag: Out<c_int>, request: Out<MPI_Request>) -> CallResult {
    let flags = flag.get("flag")?.cast_unsigned();
    start::give(request, Some(comm.share()?.iagree_on_flags(flags, Box::new(store_flags(flag)))?))
}

/// Returns a function that stores the handle of the new communicator.
fn store_comm(newcomm: Out<MPI_Comm>) -> impl FnOnce(Option<Arc<Comm>>) -> Result<()> + Send + 'static {
    let place = newcomm.address().expose_provenance();
    move |made| {
        let handle = made.map_or(Ok(MPI_COMM_NULL), publish)?;
        Out::<MPI_Comm>::at(place).set(handle, "newcomm")
    }
}

/// `MPIX_Comm_shrink`.
pub fn comm_shrink(comm: MPI_Comm, newcomm: Out<MPI_Comm>) -> CallResult {
    give(newcomm, None)?;
    Ok(comm.share()?.shrink(Box::new(store_comm(newcomm)))?)
}

/// `MPIX_Comm_ishrink`.
pub fn comm_ishrink(comm: MPI_Comm, newcomm: Out<MPI_Comm>, request: Out<MPI_Request>) -> CallResult {
    give(newcomm, None)?;
    start::give(request, Some(comm.share()?.ishrink(Box::new(store_comm(newcomm)))?))
}
