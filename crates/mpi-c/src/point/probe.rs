//! Probes, and matched messages.

use core::ffi::c_int;
use std::sync::Arc;

use canele_mpi::awaited::finish;
use canele_mpi::point::Message;
use canele_mpi::request::Request;
use canele_mpi::{Comm, Error, Status};

use super::{from, wait};
use crate::buffer::data;
use crate::constants::{MPI_MESSAGE_NO_PROC, MPI_MESSAGE_NULL};
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_Datatype, MPI_Message, ObjectHandle};
use crate::library;
use crate::pointer::{Out, RecvBuffer};
use crate::status::StatusOut;
use crate::width::Count;

/// `MPI_Probe`.
pub fn probe(source: c_int, tag: c_int, comm: MPI_Comm, status: StatusOut) -> CallResult {
    let comm = comm.get()?;
    let found = match from(comm, source, tag)? {
        Some(from) => comm.probe(from)?,
        None => Status::NO_PROCESS,
    };
    Ok(status.set(found))
}

/// `MPI_Iprobe`.
pub fn iprobe(source: c_int, tag: c_int, comm: MPI_Comm, flag: Out<c_int>, status: StatusOut) -> CallResult {
    let comm = comm.get()?;
    let found = match from(comm, source, tag)? {
        Some(from) => comm.iprobe(from)?,
        None => Some(Status::NO_PROCESS),
    };
    if let Some(found) = found {
        status.set(found);
    }
    Ok(flag.set(c_int::from(found.is_some()), "flag")?)
}

/// `MPI_Mprobe`.
pub fn mprobe(
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    message: Out<MPI_Message>,
    status: StatusOut,
) -> CallResult {
    let comm = comm.share()?;
    match from(&comm, source, tag)? {
        Some(from) => give(comm.mprobe(from)?, message, status),
        None => give_no_process(message, status),
    }
}

/// `MPI_Improbe`.
pub fn improbe(
    source: c_int,
    tag: c_int,
    comm: MPI_Comm,
    flag: Out<c_int>,
    message: Out<MPI_Message>,
    status: StatusOut,
) -> CallResult {
    let comm = comm.share()?;
    let Some(from) = from(&comm, source, tag)? else {
        flag.set(1, "flag")?;
        return give_no_process(message, status);
    };
    let found = comm.improbe(from)?;
    flag.set(c_int::from(found.is_some()), "flag")?;
    match found {
        Some(found) => give(found, message, status),
        None => Ok(()),
    }
}

fn give(found: (Message, Status), message: Out<MPI_Message>, status: StatusOut) -> CallResult {
    status.set(found.1);
    Ok(message.set(MPI_Message::new(Arc::new(found.0))?, "message")?)
}

fn give_no_process(message: Out<MPI_Message>, status: StatusOut) -> CallResult {
    status.set(Status::NO_PROCESS);
    Ok(message.set(MPI_MESSAGE_NO_PROC, "message")?)
}

/// Takes the message of a handle, which becomes null; none for `MPI_MESSAGE_NO_PROC`.
pub(super) fn take(message: Out<MPI_Message>) -> canele_mpi::Result<Option<Arc<Message>>> {
    let handle = message.get("message")?;
    let taken = if handle == MPI_MESSAGE_NO_PROC { None } else { Some(handle.free()?) };
    message.set(MPI_MESSAGE_NULL, "message")?;
    Ok(taken)
}

/// `MPI_Mrecv`.
pub fn mrecv(
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    message: Out<MPI_Message>,
    status: StatusOut,
) -> CallResult {
    let comm = comm_of(message)?;
    let received = || match start(buf, count, datatype, message)? {
        Some(request) => finish(library::engine()?, request),
        None => Ok(Status::NO_PROCESS),
    };
    let raised = |error: Box<Error>| {
        status.set_failed(comm.as_deref(), &error);
        wait::raise(comm.as_deref(), "MPI_Mrecv", error)
    };
    Ok(status.set(received().map_err(raised)?))
}

/// Starts to receive a matched message; none for `MPI_MESSAGE_NO_PROC`.
pub(super) fn start(
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    message: Out<MPI_Message>,
) -> canele_mpi::Result<Option<Request>> {
    let data = data(buf, count, datatype)?;
    take(message)?.map(|taken| taken.irecv(data)).transpose()
}

/// Returns the communicator of a message, whose handler gets errors.
pub(super) fn comm_of(message: Out<MPI_Message>) -> canele_mpi::Result<Option<Arc<Comm>>> {
    Ok(message.get("message")?.get().ok().map(|message| message.comm().clone()))
}
