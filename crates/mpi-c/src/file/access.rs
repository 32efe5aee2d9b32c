//! Data accesses of files, blocking and not (MPI 5.0, §14.4.2 to §14.4.4).

use canele_mpi::Result;
use canele_mpi::file::{Call, Memory, Place};

use super::use_threads;
use crate::buffer::elements;
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, MPI_File, MPI_Request};
use crate::pointer::{Out, RecvBuffer, SendBuffer};
use crate::requests;
use crate::status::StatusOut;
use crate::width::Count;

/// Room for data that is read.
pub(super) fn target(buf: RecvBuffer, count: Count, datatype: MPI_Datatype) -> Result<Memory> {
    elements(buf, count.get()?, datatype).map(Memory::Target)
}

/// Data that is written.
pub(super) fn source(buf: SendBuffer, count: Count, datatype: MPI_Datatype) -> Result<Memory> {
    elements(buf, count.get()?, datatype).map(Memory::Source)
}

/// Carries an access out.
fn now(fh: MPI_File, call: Call, memory: Result<Memory>, status: StatusOut) -> CallResult {
    Ok(status.set(fh.get()?.access(call, memory?)?))
}

/// Starts an access.
fn start(fh: MPI_File, call: Call, memory: Result<Memory>, request: Out<MPI_Request>) -> CallResult {
    let (file, memory) = (fh.share()?, memory?);
    use_threads();
    let started = file.start_access(call, memory)?;
    Ok(request.set(requests::publish(started)?, "request")?)
}

/// `MPI_File_read_at`.
pub fn file_read_at(
    fh: MPI_File,
    offset: i64,
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    status: StatusOut,
) -> CallResult {
    let call = Call { name: "MPI_File_read_at", place: Place::At(offset), together: false };
    now(fh, call, target(buf, count, datatype), status)
}

/// `MPI_File_read_at_all`.
pub fn file_read_at_all(
    fh: MPI_File,
    offset: i64,
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    status: StatusOut,
) -> CallResult {
    let call = Call { name: "MPI_File_read_at_all", place: Place::At(offset), together: true };
    now(fh, call, target(buf, count, datatype), status)
}

/// `MPI_File_read`.
pub fn file_read(
    fh: MPI_File,
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    status: StatusOut,
) -> CallResult {
    let call = Call { name: "MPI_File_read", place: Place::Individual, together: false };
    now(fh, call, target(buf, count, datatype), status)
}

/// `MPI_File_read_all`.
pub fn file_read_all(
    fh: MPI_File,
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    status: StatusOut,
) -> CallResult {
    let call = Call { name: "MPI_File_read_all", place: Place::Individual, together: true };
    now(fh, call, target(buf, count, datatype), status)
}

/// `MPI_File_read_shared`.
pub fn file_read_shared(
    fh: MPI_File,
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    status: StatusOut,
) -> CallResult {
    let call = Call { name: "MPI_File_read_shared", place: Place::Shared, together: false };
    now(fh, call, target(buf, count, datatype), status)
}

/// `MPI_File_read_ordered`.
pub fn file_read_ordered(
    fh: MPI_File,
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    status: StatusOut,
) -> CallResult {
    let call = Call { name: "MPI_File_read_ordered", place: Place::Ordered, together: true };
    now(fh, call, target(buf, count, datatype), status)
}

/// `MPI_File_iread_at`.
pub fn file_iread_at(
    fh: MPI_File,
    offset: i64,
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    request: Out<MPI_Request>,
) -> CallResult {
    let call = Call { name: "MPI_File_iread_at", place: Place::At(offset), together: false };
    start(fh, call, target(buf, count, datatype), request)
}

/// `MPI_File_iread_at_all`.
pub fn file_iread_at_all(
    fh: MPI_File,
    offset: i64,
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    request: Out<MPI_Request>,
) -> CallResult {
    let call = Call { name: "MPI_File_iread_at_all", place: Place::At(offset), together: true };
    start(fh, call, target(buf, count, datatype), request)
}

/// `MPI_File_iread`.
pub fn file_iread(
    fh: MPI_File,
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    request: Out<MPI_Request>,
) -> CallResult {
    let call = Call { name: "MPI_File_iread", place: Place::Individual, together: false };
    start(fh, call, target(buf, count, datatype), request)
}

/// `MPI_File_iread_all`.
pub fn file_iread_all(
    fh: MPI_File,
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    request: Out<MPI_Request>,
) -> CallResult {
    let call = Call { name: "MPI_File_iread_all", place: Place::Individual, together: true };
    start(fh, call, target(buf, count, datatype), request)
}

/// `MPI_File_iread_shared`.
pub fn file_iread_shared(
    fh: MPI_File,
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
    request: Out<MPI_Request>,
) -> CallResult {
    let call = Call { name: "MPI_File_iread_shared", place: Place::Shared, together: false };
    start(fh, call, target(buf, count, datatype), request)
}

/// `MPI_File_write_at`.
pub fn file_write_at(
    fh: MPI_File,
    offset: i64,
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    status: StatusOut,
) -> CallResult {
    let call = Call { name: "MPI_File_write_at", place: Place::At(offset), together: false };
    now(fh, call, source(buf, count, datatype), status)
}

/// `MPI_File_write_at_all`.
pub fn file_write_at_all(
    fh: MPI_File,
    offset: i64,
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    status: StatusOut,
) -> CallResult {
    let call = Call { name: "MPI_File_write_at_all", place: Place::At(offset), together: true };
    now(fh, call, source(buf, count, datatype), status)
}

/// `MPI_File_write`.
pub fn file_write(
    fh: MPI_File,
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    status: StatusOut,
) -> CallResult {
    let call = Call { name: "MPI_File_write", place: Place::Individual, together: false };
    now(fh, call, source(buf, count, datatype), status)
}

/// `MPI_File_write_all`.
pub fn file_write_all(
    fh: MPI_File,
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    status: StatusOut,
) -> CallResult {
    let call = Call { name: "MPI_File_write_all", place: Place::Individual, together: true };
    now(fh, call, source(buf, count, datatype), status)
}

/// `MPI_File_write_shared`.
pub fn file_write_shared(
    fh: MPI_File,
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    status: StatusOut,
) -> CallResult {
    let call = Call { name: "MPI_File_write_shared", place: Place::Shared, together: false };
    now(fh, call, source(buf, count, datatype), status)
}

/// `MPI_File_write_ordered`.
pub fn file_write_ordered(
    fh: MPI_File,
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    status: StatusOut,
) -> CallResult {
    let call = Call { name: "MPI_File_write_ordered", place: Place::Ordered, together: true };
    now(fh, call, source(buf, count, datatype), status)
}

/// `MPI_File_iwrite_at`.
pub fn file_iwrite_at(
    fh: MPI_File,
    offset: i64,
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    request: Out<MPI_Request>,
) -> CallResult {
    let call = Call { name: "MPI_File_iwrite_at", place: Place::At(offset), together: false };
    start(fh, call, source(buf, count, datatype), request)
}

/// `MPI_File_iwrite_at_all`.
pub fn file_iwrite_at_all(
    fh: MPI_File,
    offset: i64,
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    request: Out<MPI_Request>,
) -> CallResult {
    let call = Call { name: "MPI_File_iwrite_at_all", place: Place::At(offset), together: true };
    start(fh, call, source(buf, count, datatype), request)
}

/// `MPI_File_iwrite`.
pub fn file_iwrite(
    fh: MPI_File,
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    request: Out<MPI_Request>,
) -> CallResult {
    let call = Call { name: "MPI_File_iwrite", place: Place::Individual, together: false };
    start(fh, call, source(buf, count, datatype), request)
}

/// `MPI_File_iwrite_all`.
pub fn file_iwrite_all(
    fh: MPI_File,
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    request: Out<MPI_Request>,
) -> CallResult {
    let call = Call { name: "MPI_File_iwrite_all", place: Place::Individual, together: true };
    start(fh, call, source(buf, count, datatype), request)
}

/// `MPI_File_iwrite_shared`.
pub fn file_iwrite_shared(
    fh: MPI_File,
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
    request: Out<MPI_Request>,
) -> CallResult {
    let call = Call { name: "MPI_File_iwrite_shared", place: Place::Shared, together: false };
    start(fh, call, source(buf, count, datatype), request)
}
