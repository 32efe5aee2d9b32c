//! Packing into a buffer of the program, in the format of messages (MPI 5.0, §5.2).

use canele_mpi::Result;
use canele_mpi::datatype::length;

use crate::buffer::{check_is_of_host, data};
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_Datatype, ObjectHandle};
use crate::pointer::{In, Out, RecvBuffer, SendBuffer};
use crate::width::{Count, OutCount};

/// `MPI_Pack`.
pub fn pack(
    inbuf: SendBuffer,
    incount: Count,
    datatype: MPI_Datatype,
    outbuf: Out<u8>,
    outsize: Count,
    position: OutCount,
    comm: MPI_Comm,
) -> CallResult {
    comm.get()?;
    let data = data(inbuf, incount, datatype)?;
    let into = packed_mut(outbuf, outsize.value)?;
    let end = data.of.pack_into(&data.raw, data.count, into, position.get("position")?)?;
    Ok(position.set(Some(end), "position")?)
}

/// `MPI_Unpack`.
pub fn unpack(
    inbuf: In<u8>,
    insize: Count,
    position: OutCount,
    outbuf: RecvBuffer,
    outcount: Count,
    datatype: MPI_Datatype,
    comm: MPI_Comm,
) -> CallResult {
    comm.get()?;
    let mut data = data(outbuf, outcount, datatype)?;
    let from = packed(inbuf, insize.value)?;
    let end = data.of.unpack_from(from, position.get("position")?, &mut data.raw, data.count)?;
    Ok(position.set(Some(end), "position")?)
}

/// `MPI_Pack_size`.
pub fn pack_size(incount: Count, datatype: MPI_Datatype, comm: MPI_Comm, size: OutCount) -> CallResult {
    comm.get()?;
    let bytes = datatype.get()?.total_bytes(incount.get()?)?;
    Ok(size.set(Some(bytes as i64), "size")?)
}

/// Returns the packed bytes to read.
pub(super) fn packed<'a>(inbuf: In<u8>, insize: i64) -> Result<&'a [u8]> {
    let len = length("insize", insize)?;
    check_is_of_host(core::ptr::without_provenance(inbuf.address()), len)?;
    inbuf.slice(len, "inbuf")
}

/// Returns the buffer for packed bytes.
pub(super) fn packed_mut<'a>(outbuf: Out<u8>, outsize: i64) -> Result<&'a mut [u8]> {
    let len = length("outsize", outsize)?;
    check_is_of_host(outbuf.address().cast(), len)?;
    outbuf.slice(len, "outbuf")
}
