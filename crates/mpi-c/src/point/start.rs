//! Non-blocking messages.

use core::ffi::c_int;

use canele_engine::Pending;
use canele_mpi::request::Request;
use canele_mpi::{Error, Mode};

use super::route;
use super::short::{self, Attempt};
use super::{from, probe, target, wait};
use crate::buffer::data;
use crate::constants::MPI_REQUEST_NULL;
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_Datatype, MPI_Message, MPI_Request, ObjectHandle};
use crate::pointer::{Out, RecvBuffer, SendBuffer};
use crate::requests::{self, FROM_NO_PROCESS, LEFT};
use crate::width::Count;

/// `MPI_Isend` of a message that can be sent at once.
#[inline(always)]
pub fn isend_at_once(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> Attempt {
    if request.is_null() {
        return Attempt::Left;
    }
    put_left(request, short::send_at_once(buf, (count, datatype), (dest, tag), comm))
}

/// Stores the handle of a completed send, if the message has left.
#[inline(always)]
fn put_left(request: Out<MPI_Request>, sent: Attempt) -> Attempt {
    if matches!(sent, Attempt::Done | Attempt::ToSleeper(_)) {
        request.put(LEFT);
    }
    sent
}

/// `MPI_Isend`.
#[inline(never)]
pub fn isend(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> CallResult {
    let attempt = match route::learn(comm, datatype, (dest, tag)) {
        Some(route) if !request.is_null() => put_left(request, short::send_on(route, buf, count, tag)),
        _ => Attempt::Left,
    };
    attempt.end_send(
        || isend_in_mode(buf, count, datatype, dest, tag, comm, request, Mode::Standard),
        || isend_refused(buf, count, datatype, dest, tag, comm, request),
    )
}

/// `MPI_Isend` of a message that the short path refused.
#[inline(never)]
pub fn isend_refused(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> CallResult {
    let attempt = match request.is_null() {
        true => Attempt::Left,
        false => put_left(request, short::send_next(buf, (count, datatype), (dest, tag), comm)),
    };
    attempt.end_send(
        || isend_in_mode(buf, count, datatype, dest, tag, comm, request, Mode::Standard),
        || {
            let on = comm.get()?;
            let data = data(buf, count, datatype)?;
            let to = target(on, dest, tag).map_err(|error| not_started(request, error))?;
            let pending = to.map(|to| on.start_refused(to, data)).transpose()?.flatten();
            give_send(comm, request, pending)
        },
    )
}

/// `MPI_Issend`.
pub fn issend(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> CallResult {
    isend_in_mode(buf, count, datatype, dest, tag, comm, request, Mode::Synchronous)
}

/// `MPI_Irsend`.
pub fn irsend(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> CallResult {
    isend_in_mode(buf, count, datatype, dest, tag, comm, request, Mode::Ready)
}

/// Sends by the general path.
#[inline(never)]
#[allow(clippy::too_many_arguments)] // The arguments of the standard.
fn isend_in_mode(
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
    mode: Mode,
) -> CallResult {
    let on = comm.get()?;
    let data = data(buf, count, datatype)?;
    let to = target(on, dest, tag).map_err(|error| not_started(request, error))?;
    let pending = to.map(|to| on.start_send(to, mode, data)).transpose()?.flatten();
    give_send(comm, request, pending)
}

/// Stores the handle of a started send; `None` means that the message has left.
#[inline(always)]
fn give_send(comm: MPI_Comm, request: Out<MPI_Request>, pending: Option<Pending>) -> CallResult {
    let handle = match pending {
        Some(pending) => requests::publish(comm.share()?.sending(pending))?,
        None => LEFT,
    };
    Ok(request.set(handle, "request")?)
}

/// `MPI_Irecv` of a message whose receive can be deferred.
#[inline(always)]
pub fn irecv_at_once(
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> Attempt {
    if request.is_null() {
        return Attempt::Left;
    }
    short::defer_at_once(buf, (count, datatype), (source, tag), comm, request)
}

/// `MPI_Irecv`.
#[inline(never)]
pub fn irecv(
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> CallResult {
    if let Some(route) = route::learn(comm, datatype, (source, tag))
        && !request.is_null()
        && short::defer_on(route, buf, count, tag, request).is_done()
    {
        return Ok(());
    }
    irecv_refused(buf, count, datatype, source, tag, comm, request)
}

/// `MPI_Irecv` of a receive that was not deferred at once.
#[inline(never)]
pub fn irecv_refused(
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> CallResult {
    if !request.is_null() && short::defer_next(buf, (count, datatype), (source, tag), comm, request) {
        return Ok(());
    }
    let on = comm.get()?;
    let data = data(buf, count, datatype)?;
    let Some(from) = from(on, source, tag).map_err(|error| not_started(request, error))? else {
        return Ok(request.set(FROM_NO_PROCESS, "request")?);
    };
    let pending = on.start_receive(from, data)?;
    let handle = requests::publish(comm.share()?.receiving(pending))?;
    Ok(request.set(handle, "request")?)
}

/// `MPI_Isendrecv`.
pub fn isendrecv(
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
    request: Out<MPI_Request>,
) -> CallResult {
    let comm = comm.share()?;
    let (out, into) = (data(sendbuf, sendcount, sendtype)?, data(recvbuf, recvcount, recvtype)?);
    let ends = target(&comm, dest, sendtag).and_then(|to| Ok((to, from(&comm, source, recvtag)?)));
    let (to, from) = ends.map_err(|error| not_started(request, error))?;
    give(request, Some(comm.iexchange(to, out, from, into)?))
}

/// `MPI_Isendrecv_replace`.
pub fn isendrecv_replace(
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    dest: c_int,
    sendtag: c_int,
    source: c_int,
    recvtag: c_int,
    comm: MPI_Comm,
    request: Out<MPI_Request>,
) -> CallResult {
    let comm = comm.share()?;
    let data = data(buf, count, datatype)?;
    let ends = target(&comm, dest, sendtag).and_then(|to| Ok((to, from(&comm, source, recvtag)?)));
    let (to, from) = ends.map_err(|error| not_started(request, error))?;
    give(request, Some(comm.iexchange_in_place(to, from, data)?))
}

/// `MPI_Imrecv`.
pub fn imrecv(
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    message: Out<MPI_Message>,
    request: Out<MPI_Request>,
) -> CallResult {
    let comm = probe::comm_of(message)?;
    let started = probe::start(buf, count, datatype, message)
        .map_err(|error| wait::raise(comm.as_deref(), "MPI_Imrecv", error))?;
    match started {
        Some(started) => give(request, Some(started)),
        None => Ok(request.set(FROM_NO_PROCESS, "request")?),
    }
}

/// Stores the null handle. Fault-tolerant programs wait for operations that a revoked communicator has not
/// started.
#[cold]
fn not_started(request: Out<MPI_Request>, error: Box<Error>) -> Box<Error> {
    // The first error is reported.
    let _ = request.set(MPI_REQUEST_NULL, "request");
    error
}

/// Stores the handle of a started operation; `None` means that it has completed.
#[inline(always)]
pub fn give(request: Out<MPI_Request>, started: Option<Request>) -> CallResult {
    let handle = match started {
        Some(started) => requests::publish(started)?,
        None => LEFT,
    };
    Ok(request.set(handle, "request")?)
}
