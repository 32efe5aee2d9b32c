//! Queries of communicators: rank, size, name, groups, error handler.

use core::ffi::c_int;

use crate::constants::{MPI_COMM_NULL, MPI_MAX_OBJECT_NAME};
use crate::error::CallResult;
use crate::handle::{MPI_Comm, ObjectHandle};
use crate::pointer::{Out, Text, TextOut};

/// `MPI_Comm_rank`.
pub fn comm_rank(comm: MPI_Comm, rank: Out<c_int>) -> CallResult {
    Ok(rank.set(comm.get()?.rank() as c_int, "rank")?)
}

/// `MPI_Comm_size`.
pub fn comm_size(comm: MPI_Comm, size: Out<c_int>) -> CallResult {
    Ok(size.set(comm.get()?.size() as c_int, "size")?)
}

/// `MPI_Comm_remote_size`.
pub fn comm_remote_size(comm: MPI_Comm, size: Out<c_int>) -> CallResult {
    Ok(size.set(comm.get()?.remote()?.size() as c_int, "size")?)
}

/// `MPI_Comm_test_inter`.
pub fn comm_test_inter(comm: MPI_Comm, flag: Out<c_int>) -> CallResult {
    Ok(flag.set(c_int::from(comm.get()?.is_inter()), "flag")?)
}

/// `MPI_Comm_set_name`.
pub fn comm_set_name(comm: MPI_Comm, comm_name: Text) -> CallResult {
    comm.get()?.set_name(&comm_name.read("comm_name")?);
    Ok(())
}

/// `MPI_Comm_get_name`.
pub fn comm_get_name(comm: MPI_Comm, comm_name: TextOut, resultlen: Out<c_int>) -> CallResult {
    // The null handle is the only one with a name but without an object.
    let name = if comm == MPI_COMM_NULL { "MPI_COMM_NULL".to_owned() } else { comm.get()?.name() };
    let len = comm_name.write(&name, MPI_MAX_OBJECT_NAME as usize, "comm_name")?;
    Ok(resultlen.set(len as c_int, "resultlen")?)
}
