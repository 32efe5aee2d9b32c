//! Non-blocking messages.

use core::ffi::c_int;

use canele_engine::Started;
use canele_mpi::request::Request;
use canele_mpi::{Mode, Status};
use canele_mpi_macros::mpi;

use super::{from, target};
use crate::buffer::{data, data_mut};
use crate::error::Outcome;
use crate::handle::{MPI_Comm, MPI_Datatype, MPI_Message, MPI_Request};
use crate::pointer::{Memory, MemoryMut, Out};
use crate::requests::{self, LEFT};
use crate::width::Count;

#[mpi(large, hot)]
fn MPI_Isend(
    buf: Memory,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> Outcome {
    isend(buf, count, datatype, dest, tag, comm, request, Mode::Standard)
}

#[mpi(large)]
fn MPI_Issend(
    buf: Memory,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> Outcome {
    isend(buf, count, datatype, dest, tag, comm, request, Mode::Synchronous)
}

#[mpi(large)]
fn MPI_Irsend(
    buf: Memory,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> Outcome {
    isend(buf, count, datatype, dest, tag, comm, request, Mode::Ready)
}

#[inline(always)]
#[allow(clippy::too_many_arguments)] // The arguments of the standard.
fn isend(
    buf: Memory,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
    mode: Mode,
) -> Outcome {
    let on = comm.get()?;
    let data = data(buf, count, datatype)?;
    let started = match target(on, dest, tag)? {
        Some(to) => match on.try_send_now(to, mode, data)? {
            Started::Left => None,
            Started::Waits(pending) => Some(comm.share()?.sending(pending)),
            Started::NotHere => Some(comm.share()?.isend_lent(to, mode, data)?),
        },
        None => None,
    };
    give(request, started)
}

#[mpi(large, hot)]
fn MPI_Irecv(
    buf: MemoryMut,
    count: Count,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> Outcome {
    let comm = comm.share()?;
    let data = data_mut(buf, count, datatype)?;
    let started = match from(&comm, source, tag)? {
        Some(from) => comm.irecv(from, data)?,
        None => Request::ended_with(Some(comm), Ok(Status::NO_PROCESS)),
    };
    give(request, Some(started))
}

#[mpi(large)]
fn MPI_Isendrecv(
    sendbuf: Memory,
    sendcount: Count,
    sendtype: MPI_Datatype,
    dest: c_int,
    sendtag: c_int,
    recvbuf: MemoryMut,
    recvcount: Count,
    recvtype: MPI_Datatype,
    source: c_int,
    recvtag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> Outcome {
    let comm = comm.share()?;
    let (out, into) = (data(sendbuf, sendcount, sendtype)?, data_mut(recvbuf, recvcount, recvtype)?);
    let (to, from) = (target(&comm, dest, sendtag)?, from(&comm, source, recvtag)?);
    give(request, Some(comm.iexchange(to, out, from, into)?))
}

#[mpi(large)]
fn MPI_Isendrecv_replace(
    buf: MemoryMut,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> Outcome {
    let comm = comm.share()?;
    let data = data_mut(buf, count, datatype)?;
    let (to, from) = (target(&comm, dest, sendtag)?, from(&comm, source, recvtag)?);
    give(request, Some(comm.iexchange_in_place(to, from, data)?))
}

#[mpi(large)]
fn MPI_Imrecv(
    buf: MemoryMut,
    count: Count,
    datatype: MPI_Datatype,
    message: Out<MPI_Message>,
    request: Out<MPI_Request>,
) -> Outcome {
    let data = data_mut(buf, count, datatype)?;
    let started = match super::probe::take(message)? {
        Some(taken) => taken.irecv(data)?,
        None => Request::ended_with(None, Ok(Status::NO_PROCESS)),
    };
    give(request, Some(started))
}

/// Gives the program the handle of what was started; `None`: it has ended already.
#[inline(always)]
pub fn give(request: Out<MPI_Request>, started: Option<Request>) -> Outcome {
    let handle = match started {
        Some(started) => requests::publish(started)?,
        None => LEFT,
    };
    Ok(request.set(handle, "request")?)
}
