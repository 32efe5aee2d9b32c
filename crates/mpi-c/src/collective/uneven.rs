//! Collectives with different amounts of data on each rank.

use core::ffi::c_int;

use canele_mpi::Result;
use canele_mpi::collective::{Call, Root, Scattered};

use super::arguments::{is_root, or_in_place, parts, parts_of_types, root as root_of};
use crate::buffer::UserBuffer;
use crate::constants::MPI_IN_PLACE;
use crate::handle::{MPI_Comm, MPI_Datatype, ObjectHandle};
use crate::pointer::{In, RecvBuffer, SendBuffer};
use crate::width::{Count, Counts, Displacements};

/// `MPI_Gatherv`.
pub fn gatherv(
    sendbuf: SendBuffer,
    sendcount: Count,
    sendtype: MPI_Datatype,
    recvbuf: RecvBuffer,
    recvcounts: Counts,
    displs: Displacements,
    recvtype: MPI_Datatype,
    root: c_int,
    comm: MPI_Comm,
) -> Result<Call> {
    let comm = comm.get()?;
    let root = root_of(comm, root)?;
    let gives = root != Root::Elsewhere && root != Root::Here;
    let mine = if gives { or_in_place(sendbuf, sendcount, sendtype, 1)? } else { None };
    let takes = is_root(comm, root);
    let all = takes.then(|| parts(recvbuf, recvcounts, displs, recvtype, comm.peers().size()));
    comm.gatherv(mine, all.transpose()?, root)
}

/// `MPI_Scatterv`.
pub fn scatterv(
    sendbuf: SendBuffer,
    sendcounts: Counts,
    displs: Displacements,
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
    let all = gives.then(|| parts(sendbuf, sendcounts, displs, sendtype, comm.peers().size()));
    comm.scatterv(all.transpose()?, mine, root)
}

/// `MPI_Allgatherv`.
pub fn allgatherv(
    sendbuf: SendBuffer,
    sendcount: Count,
    sendtype: MPI_Datatype,
    recvbuf: RecvBuffer,
    recvcounts: Counts,
    displs: Displacements,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<Call> {
    let comm = comm.get()?;
    let all = parts(recvbuf, recvcounts, displs, recvtype, comm.peers().size())?;
    comm.allgatherv(or_in_place(sendbuf, sendcount, sendtype, 1)?, all)
}

/// `MPI_Alltoallv`.
pub fn alltoallv(
    sendbuf: SendBuffer,
    sendcounts: Counts,
    sdispls: Displacements,
    sendtype: MPI_Datatype,
    recvbuf: RecvBuffer,
    recvcounts: Counts,
    rdispls: Displacements,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<Call> {
    let comm = comm.get()?;
    let ranks = comm.peers().size();
    let from = unless_in_place(sendbuf, || parts(sendbuf, sendcounts, sdispls, sendtype, ranks))?;
    let into = parts(recvbuf, recvcounts, rdispls, recvtype, ranks)?;
    comm.alltoallv("MPI_Alltoallv", from, into)
}

/// `MPI_Alltoallw`.
pub fn alltoallw(
    sendbuf: SendBuffer,
    sendcounts: Counts,
    sdispls: Displacements,
    sendtypes: In<MPI_Datatype>,
    recvbuf: RecvBuffer,
    recvcounts: Counts,
    rdispls: Displacements,
    recvtypes: In<MPI_Datatype>,
    comm: MPI_Comm,
) -> Result<Call> {
    let comm = comm.get()?;
    let ranks = comm.peers().size();
    let from = unless_in_place(sendbuf, || of_types(sendbuf, sendcounts, sdispls, sendtypes, ranks))?;
    let into = of_types(recvbuf, recvcounts, rdispls, recvtypes, ranks)?;
    comm.alltoallv("MPI_Alltoallw", from, into)
}

fn of_types<B: UserBuffer>(
    buffer: B,
    counts: Counts,
    places: Displacements,
    types: In<MPI_Datatype>,
    ranks: usize,
) -> Result<Scattered<B::Raw>> {
    let places = places.0.read(ranks, "the array of displacements")?;
    parts_of_types(buffer, counts, &places, types.slice(ranks, "the array of datatypes")?)
}

fn unless_in_place(
    buffer: SendBuffer,
    read: impl FnOnce() -> Result<Scattered>,
) -> Result<Option<Scattered>> {
    if buffer == MPI_IN_PLACE { Ok(None) } else { read().map(Some) }
}
