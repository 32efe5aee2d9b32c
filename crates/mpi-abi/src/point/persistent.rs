//! Persistent messages: what is started again and again (MPI 5.0, §3.9).

use core::ffi::c_int;

use canele_mpi::Mode;
use canele_mpi::point::Handing;
use canele_mpi_macros::mpi;

use super::{from, start, target, wait};
use crate::buffer::elements;
use crate::error::Outcome;
use crate::handle::{MPI_Comm, MPI_Datatype, MPI_Request};
use crate::pointer::{Memory, MemoryMut, Out};
use crate::requests::{LEFT, requests};
use crate::width::Count;

#[mpi(large)]
fn MPI_Send_init(
    buf: Memory,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> Outcome {
    send_init(buf, count, datatype, dest, tag, comm, request, Handing::Lent(Mode::Standard))
}

#[mpi(large)]
fn MPI_Ssend_init(
    buf: Memory,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> Outcome {
    send_init(buf, count, datatype, dest, tag, comm, request, Handing::Lent(Mode::Synchronous))
}

#[mpi(large)]
fn MPI_Rsend_init(
    buf: Memory,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> Outcome {
    send_init(buf, count, datatype, dest, tag, comm, request, Handing::Lent(Mode::Ready))
}

#[mpi(large)]
fn MPI_Bsend_init(
    buf: Memory,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> Outcome {
    send_init(buf, count, datatype, dest, tag, comm, request, Handing::Buffered)
}

#[allow(clippy::too_many_arguments)] // The arguments of the standard.
fn send_init(
    buf: Memory,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
    handing: Handing,
) -> Outcome {
    let comm = comm.share()?;
    let elements = elements(buf, count.get()?, datatype)?;
    let to = target(&comm, dest, tag)?;
    start::give(request, Some(comm.send_init(to, handing, elements)))
}

#[mpi(large)]
fn MPI_Recv_init(
    buf: MemoryMut,
    count: Count,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> Outcome {
    let comm = comm.share()?;
    let elements = elements(buf, count.get()?, datatype)?;
    let from = from(&comm, source, tag)?;
    start::give(request, Some(comm.recv_init(from, elements)))
}

#[mpi]
fn MPI_Start(request: Out<MPI_Request>) -> Outcome {
    start(request.get("request")?, "MPI_Start")
}

#[mpi]
fn MPI_Startall(count: c_int, requests: Out<MPI_Request>) -> Outcome {
    super::complete::array(count, requests)?.iter().try_for_each(|handle| start(*handle, "MPI_Startall"))
}

/// Starts a persistent operation in its place in the table.
fn start(handle: MPI_Request, function: &str) -> Outcome {
    if handle == LEFT {
        canele_mpi::fail!(Request, "the request is of a send that has left: it is not persistent");
    }
    let started = requests()?.get(handle)?.start();
    started.map_err(|error| wait::raise_of(handle, function, error))
}
