//! Collectives with equal amounts of data on all members.

use core::ffi::c_int;

use canele_mpi::Result;
use canele_mpi::collective::{Call, Root};

use super::arguments::{is_root, many, one, or_in_place, root as root_of};
use crate::handle::{MPI_Comm, MPI_Datatype, ObjectHandle};
use crate::pointer::{RecvBuffer, SendBuffer};
use crate::width::Count;

/// `MPI_Barrier`.
pub fn barrier(comm: MPI_Comm) -> Result<Call> {
    comm.get()?.barrier_call()
}

/// `MPI_Bcast`.
pub fn bcast(
    buffer: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> Result<Call> {
    let comm = comm.get()?;
    let root = root_of(comm, root)?;
    if root == Root::Elsewhere {
        // Buffer and count of this rank are ignored.
        return comm.nothing_call("MPI_Bcast");
    }
    comm.bcast(one(buffer, count, datatype)?, root)
}

/// `MPI_Gather`.
pub fn gather(
    sendbuf: SendBuffer,
    sendcount: Count,
    sendtype: MPI_Datatype,
    recvbuf: RecvBuffer,
    recvcount: Count,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> Result<Call> {
    let comm = comm.get()?;
    let root = root_of(comm, root)?;
    let gives = root != Root::Elsewhere && root != Root::Here;
    let mine = if gives { or_in_place(sendbuf, sendcount, sendtype, 1)? } else { None };
    let takes = is_root(comm, root);
    let all = takes.then(|| many(recvbuf, recvcount, recvtype, comm.peers().size()));
    comm.gather(mine, all.transpose()?, root)
}

/// `MPI_Scatter`.
pub fn scatter(
    sendbuf: SendBuffer,
    sendcount: Count,
    sendtype: MPI_Datatype,
    recvbuf: RecvBuffer,
    recvcount: Count,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> Result<Call> {
    let comm = comm.get()?;
    let root = root_of(comm, root)?;
    let takes = root != Root::Elsewhere && root != Root::Here;
    let mine = if takes { or_in_place(recvbuf, recvcount, recvtype, 1)? } else { None };
    let gives = is_root(comm, root);
    let all = gives.then(|| many(sendbuf, sendcount, sendtype, comm.peers().size()));
    comm.scatter(all.transpose()?, mine, root)
}

/// `MPI_Allgather`.
pub fn allgather(
    sendbuf: SendBuffer,
    sendcount: Count,
    sendtype: MPI_Datatype,
    recvbuf: RecvBuffer,
    recvcount: Count,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<Call> {
    let comm = comm.get()?;
    let all = many(recvbuf, recvcount, recvtype, comm.peers().size())?;
    comm.allgather(or_in_place(sendbuf, sendcount, sendtype, 1)?, all)
}

/// `MPI_Alltoall`.
pub fn alltoall(
    sendbuf: SendBuffer,
    sendcount: Count,
    sendtype: MPI_Datatype,
    recvbuf: RecvBuffer,
    recvcount: Count,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<Call> {
    let comm = comm.get()?;
    let ranks = comm.peers().size();
    let into = many(recvbuf, recvcount, recvtype, ranks)?;
    comm.alltoall(or_in_place(sendbuf, sendcount, sendtype, ranks)?, into)
}
