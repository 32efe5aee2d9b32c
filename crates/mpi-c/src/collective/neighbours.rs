//! Neighbourhood collectives (MPI 5.0, §8.6).

use canele_mpi::Result;
use canele_mpi::collective::{Call, Scattered};

use super::arguments::{many, one, parts, parts_of_types};
use crate::buffer::UserBuffer;
use crate::handle::{MPI_Comm, MPI_Datatype, ObjectHandle};
use crate::pointer::{In, RecvBuffer, SendBuffer};
use crate::width::{Count, Counts, Displacements};

/// `MPI_Neighbor_allgather`.
pub fn neighbor_allgather(
    sendbuf: SendBuffer,
    sendcount: Count,
    sendtype: MPI_Datatype,
    recvbuf: RecvBuffer,
    recvcount: Count,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<Call> {
    let comm = comm.get()?;
    let (sources, _) = comm.neighbours()?;
    let all = many(recvbuf, recvcount, recvtype, sources.len())?;
    comm.neighbor_allgather(one(sendbuf, sendcount, sendtype)?, all)
}

/// `MPI_Neighbor_allgatherv`.
pub fn neighbor_allgatherv(
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
    let (sources, _) = comm.neighbours()?;
    let all = parts(recvbuf, recvcounts, displs, recvtype, sources.len())?;
    comm.neighbor_allgatherv(one(sendbuf, sendcount, sendtype)?, all)
}

/// `MPI_Neighbor_alltoall`.
pub fn neighbor_alltoall(
    sendbuf: SendBuffer,
    sendcount: Count,
    sendtype: MPI_Datatype,
    recvbuf: RecvBuffer,
    recvcount: Count,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> Result<Call> {
    let comm = comm.get()?;
    let (sources, destinations) = comm.neighbours()?;
    let from = many(sendbuf, sendcount, sendtype, destinations.len())?;
    comm.neighbor_alltoall(from, many(recvbuf, recvcount, recvtype, sources.len())?)
}

/// `MPI_Neighbor_alltoallv`.
pub fn neighbor_alltoallv(
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
    let (sources, destinations) = comm.neighbours()?;
    let from = parts(sendbuf, sendcounts, sdispls, sendtype, destinations.len())?;
    let into = parts(recvbuf, recvcounts, rdispls, recvtype, sources.len())?;
    comm.neighbor_alltoallv("MPI_Neighbor_alltoallv", from, into)
}

/// `MPI_Neighbor_alltoallw`.
pub fn neighbor_alltoallw(
    sendbuf: SendBuffer,
    sendcounts: Counts,
    sdispls: In<i64>,
    sendtypes: In<MPI_Datatype>,
    recvbuf: RecvBuffer,
    recvcounts: Counts,
    rdispls: In<i64>,
    recvtypes: In<MPI_Datatype>,
    comm: MPI_Comm,
) -> Result<Call> {
    let comm = comm.get()?;
    let (sources, destinations) = comm.neighbours()?;
    let from = of_types(sendbuf, sendcounts, sdispls, sendtypes, destinations.len())?;
    let into = of_types(recvbuf, recvcounts, rdispls, recvtypes, sources.len())?;
    comm.neighbor_alltoallv("MPI_Neighbor_alltoallw", from, into)
}

fn of_types<B: UserBuffer>(
    buffer: B,
    counts: Counts,
    places: In<i64>,
    types: In<MPI_Datatype>,
    neighbours: usize,
) -> Result<Scattered<B::Raw>> {
    let places = places.slice(neighbours, "the array of displacements")?;
    parts_of_types(buffer, counts, places, types.slice(neighbours, "the array of datatypes")?)
}
