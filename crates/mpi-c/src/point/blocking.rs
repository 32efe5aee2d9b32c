//! Blocking sends and receives.

use core::ffi::c_int;

use canele_mpi::{Mode, Status};

use super::route;
use super::short::{self, Attempt};
use super::{from, target};
use crate::buffer::data;
use crate::constants::MPI_ANY_SOURCE;
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_Datatype, ObjectHandle};
use crate::pointer::{RecvBuffer, SendBuffer};
use crate::status::StatusOut;
use crate::width::Count;

/// `MPI_Send` of a message that can be sent at once.
#[inline(always)]
pub fn send_at_once(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> Attempt {
    short::send_at_once(buf, (count, datatype), (dest, tag), comm)
}

/// `MPI_Send`.
#[inline(never)]
pub fn send(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> CallResult {
    let attempt = match route::learn(comm, datatype, (dest, tag)) {
        Some(route) => short::send_on(route, buf, count, tag),
        None => Attempt::Left,
    };
    attempt.end_send(
        || send_in_mode(buf, count, datatype, dest, tag, comm, Mode::Standard),
        || send_refused(buf, count, datatype, dest, tag, comm),
    )
}

/// `MPI_Send` of a message that the short path refused, or that does not fit into a cell.
#[inline(never)]
pub fn send_refused(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> CallResult {
    short::send_next(buf, (count, datatype), (dest, tag), comm).end_send(
        || send_in_mode(buf, count, datatype, dest, tag, comm, Mode::Standard),
        || {
            let comm = comm.get()?;
            let data = data(buf, count, datatype)?;
            Ok(target(comm, dest, tag)?.map_or(Ok(()), |to| comm.send_refused(to, data))?)
        },
    )
}

/// `MPI_Ssend`.
pub fn ssend(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> CallResult {
    send_in_mode(buf, count, datatype, dest, tag, comm, Mode::Synchronous)
}

/// `MPI_Rsend`.
pub fn rsend(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
) -> CallResult {
    send_in_mode(buf, count, datatype, dest, tag, comm, Mode::Ready)
}

/// Sends by the general path.
#[inline(never)]
fn send_in_mode(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    mode: Mode,
) -> CallResult {
    let comm = comm.get()?;
    let data = data(buf, count, datatype)?;
    let Some(to) = target(comm, dest, tag)? else { return Ok(()) };
    Ok(comm.send(to.rank, to.tag, mode, data)?)
}

/// `MPI_Recv` of a message that has arrived.
#[inline(always)]
pub fn recv_at_once(
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    status: StatusOut,
) -> Attempt {
    short::receive_at_once(buf, (count, datatype), (source, tag), comm, status)
}

/// `MPI_Recv`.
#[inline(never)]
pub fn recv(
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    status: StatusOut,
) -> CallResult {
    if let Some(route) = route::learn(comm, datatype, (source, tag))
        && short::receive_on(route, buf, count, tag, status).is_done()
    {
        return Ok(());
    }
    recv_refused(buf, count, datatype, source, tag, comm, status)
}

/// `MPI_Recv` of a message that the short path did not find, or that does not fit into a cell.
#[inline(never)]
pub fn recv_refused(
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    status: StatusOut,
) -> CallResult {
    if let Some(bytes) = short::receive_next(buf, (count, datatype), (source, tag), comm) {
        status.set_received(source, tag, bytes);
        return Ok(());
    }
    receive(buf, count, datatype, source, tag, comm, status)
}

/// Receives by the general path.
#[inline(never)]
fn receive(
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    status: StatusOut,
) -> CallResult {
    let comm = comm.get()?;
    let data = data(buf, count, datatype)?;
    let Some(from) = from(comm, source, tag)? else {
        status.set(Status::NO_PROCESS);
        return Ok(());
    };
    let got = comm.recv(from, data).inspect_err(|error| status.set_failed(Some(comm), error))?;
    if status.is_wanted() {
        // The source is known, unless any source was accepted.
        let source = if source == MPI_ANY_SOURCE { rank_of(comm, got.source) } else { source };
        status.set_received(source, got.tag.0 as c_int, got.bytes);
    }
    Ok(())
}

fn rank_of(comm: &canele_mpi::Comm, source: canele_mpi::Rank) -> c_int {
    comm.peers().rank_of(source).map_or(MPI_ANY_SOURCE, |rank| rank as c_int)
}

/// `MPI_Sendrecv`.
pub fn sendrecv(
    sendbuf: SendBuffer,
    sendcount: Count,
    sendtype: MPI_Datatype,
    dest: c_int,
    sendtag: c_int,
    recvbuf: RecvBuffer,
    recvcount: Count,
    recvtype: MPI_Datatype,
    source: c_int,
    recvtag: c_int,
    comm: MPI_Comm,
    status: StatusOut,
) -> CallResult {
    let comm = comm.share()?;
    let (out, into) = (data(sendbuf, sendcount, sendtype)?, data(recvbuf, recvcount, recvtype)?);
    let (to, from) = (target(&comm, dest, sendtag)?, from(&comm, source, recvtag)?);
    let got = comm.exchange(to, out, from, into);
    Ok(status.set(got.inspect_err(|error| status.set_failed(Some(&comm), error))?))
}

/// `MPI_Sendrecv_replace`.
pub fn sendrecv_replace(
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: MPI_Comm,
    status: StatusOut,
) -> CallResult {
    let comm = comm.share()?;
    let data = data(buf, count, datatype)?;
    let (to, from) = (target(&comm, dest, sendtag)?, from(&comm, source, recvtag)?);
    let got = comm.exchange_in_place(to, from, data);
    Ok(status.set(got.inspect_err(|error| status.set_failed(Some(&comm), error))?))
}
