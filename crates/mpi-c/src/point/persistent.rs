//! Persistent messages: operations that are started repeatedly (MPI 5.0, §3.9).

use core::ffi::c_int;

use canele_mpi::Mode;
use canele_mpi::point::Handing;

use super::{from, start, target, wait};
use crate::buffer::elements;
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_Datatype, MPI_Request, ObjectHandle};
use crate::pointer::{Out, RecvBuffer, SendBuffer};
use crate::requests::{is_over_at_once, requests_with};
use crate::width::Count;

/// `MPI_Send_init`.
pub fn send_init(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> CallResult {
    send_init_by(buf, count, datatype, dest, tag, comm, request, Handing::Lent(Mode::Standard))
}

/// `MPI_Ssend_init`.
pub fn ssend_init(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> CallResult {
    send_init_by(buf, count, datatype, dest, tag, comm, request, Handing::Lent(Mode::Synchronous))
}

/// `MPI_Rsend_init`.
pub fn rsend_init(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> CallResult {
    send_init_by(buf, count, datatype, dest, tag, comm, request, Handing::Lent(Mode::Ready))
}

/// `MPI_Bsend_init`.
pub fn bsend_init(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> CallResult {
    send_init_by(buf, count, datatype, dest, tag, comm, request, Handing::Buffered)
}

#[allow(clippy::too_many_arguments)] // The standard defines the arguments.
fn send_init_by(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
    handing: Handing,
) -> CallResult {
    let comm = comm.share()?;
    let elements = elements(buf, count.get()?, datatype)?;
    let to = target(&comm, dest, tag)?;
    start::give(request, Some(comm.send_init(to, handing, elements)))
}

/// `MPI_Recv_init`.
pub fn recv_init(
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> CallResult {
    let comm = comm.share()?;
    let elements = elements(buf, count.get()?, datatype)?;
    let from = from(&comm, source, tag)?;
    start::give(request, Some(comm.recv_init(from, elements)))
}

/// `MPI_Start`.
pub fn start(request: Out<MPI_Request>) -> CallResult {
    start_request(request.get("request")?, "MPI_Start")
}

/// `MPI_Startall`.
pub fn startall(count: c_int, requests: Out<MPI_Request>) -> CallResult {
    super::complete::array(count, requests)?
        .iter()
        .try_for_each(|handle| start_request(*handle, "MPI_Startall"))
}

/// Starts a persistent operation in its row of the table.
fn start_request(handle: MPI_Request, function: &str) -> CallResult {
    if is_over_at_once(handle) {
        canele_mpi::fail!(Request, "the request is of a message that is over: it is not persistent");
    }
    let started = requests_with(handle)?.get(handle)?.start();
    started.map_err(|error| wait::raise_of(handle, function, error))
}
