//! Split collective accesses of files (MPI 5.0, §14.4.5).

use canele_mpi::Result;
use canele_mpi::file::{Memory, Place, SplitCall};

use super::access::{source, target};
use super::use_threads;
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, MPI_File};
use crate::pointer::{RecvBuffer, SendBuffer};
use crate::status::StatusOut;
use crate::width::Count;

fn begin(fh: MPI_File, call: SplitCall, place: Place, buf: SendBuffer, memory: Result<Memory>) -> CallResult {
    let (file, memory) = (fh.share()?, memory?);
    use_threads();
    Ok(file.begin_split(call, place, buf.addr(), memory)?)
}

fn end(fh: MPI_File, call: SplitCall, buf: SendBuffer, status: StatusOut) -> CallResult {
    Ok(status.set(fh.get()?.end_split(call, buf.addr())?))
}

/// `MPI_File_read_at_all_begin`.
pub fn file_read_at_all_begin(
    fh: MPI_File,
    offset: i64,
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
) -> CallResult {
    begin(fh, SplitCall::ReadAtAll, Place::At(offset), buf, target(buf, count, datatype))
}

/// `MPI_File_read_at_all_end`.
pub fn file_read_at_all_end(fh: MPI_File, buf: RecvBuffer, status: StatusOut) -> CallResult {
    end(fh, SplitCall::ReadAtAll, buf, status)
}

/// `MPI_File_read_all_begin`.
pub fn file_read_all_begin(
    fh: MPI_File,
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
) -> CallResult {
    begin(fh, SplitCall::ReadAll, Place::Individual, buf, target(buf, count, datatype))
}

/// `MPI_File_read_all_end`.
pub fn file_read_all_end(fh: MPI_File, buf: RecvBuffer, status: StatusOut) -> CallResult {
    end(fh, SplitCall::ReadAll, buf, status)
}

/// `MPI_File_read_ordered_begin`.
pub fn file_read_ordered_begin(
    fh: MPI_File,
    buf: RecvBuffer,
    count: Count,
    datatype: MPI_Datatype,
) -> CallResult {
    begin(fh, SplitCall::ReadOrdered, Place::Ordered, buf, target(buf, count, datatype))
}

/// `MPI_File_read_ordered_end`.
pub fn file_read_ordered_end(fh: MPI_File, buf: RecvBuffer, status: StatusOut) -> CallResult {
    end(fh, SplitCall::ReadOrdered, buf, status)
}

/// `MPI_File_write_at_all_begin`.
pub fn file_write_at_all_begin(
    fh: MPI_File,
    offset: i64,
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
) -> CallResult {
    begin(fh, SplitCall::WriteAtAll, Place::At(offset), buf, source(buf, count, datatype))
}

/// `MPI_File_write_at_all_end`.
pub fn file_write_at_all_end(fh: MPI_File, buf: SendBuffer, status: StatusOut) -> CallResult {
    end(fh, SplitCall::WriteAtAll, buf, status)
}

/// `MPI_File_write_all_begin`.
pub fn file_write_all_begin(
    fh: MPI_File,
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
) -> CallResult {
    begin(fh, SplitCall::WriteAll, Place::Individual, buf, source(buf, count, datatype))
}

/// `MPI_File_write_all_end`.
pub fn file_write_all_end(fh: MPI_File, buf: SendBuffer, status: StatusOut) -> CallResult {
    end(fh, SplitCall::WriteAll, buf, status)
}

/// `MPI_File_write_ordered_begin`.
pub fn file_write_ordered_begin(
    fh: MPI_File,
    buf: SendBuffer,
    count: Count,
    datatype: MPI_Datatype,
) -> CallResult {
    begin(fh, SplitCall::WriteOrdered, Place::Ordered, buf, source(buf, count, datatype))
}

/// `MPI_File_write_ordered_end`.
pub fn file_write_ordered_end(fh: MPI_File, buf: SendBuffer, status: StatusOut) -> CallResult {
    end(fh, SplitCall::WriteOrdered, buf, status)
}
