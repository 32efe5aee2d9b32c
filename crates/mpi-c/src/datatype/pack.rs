//! Packing into a buffer of the program, as it is sent (MPI 5.0, §5.2).

use canele_mpi::datatype::length;

use crate::buffer::data;
use crate::error::CallResult;
use crate::handle::{MPI_Comm, MPI_Datatype};
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
    let into = outbuf.slice(length("outsize", outsize.value)?, "outbuf")?;
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
    let from = inbuf.slice(length("insize", insize.value)?, "inbuf")?;
    let end = data.of.unpack_from(from, position.get("position")?, &mut data.raw, data.count)?;
    Ok(position.set(Some(end), "position")?)
}

/// `MPI_Pack_size`.
pub fn pack_size(incount: Count, datatype: MPI_Datatype, comm: MPI_Comm, size: OutCount) -> CallResult {
    comm.get()?;
    let bytes = datatype.get()?.total_bytes(incount.get()?)?;
    Ok(size.set(Some(bytes as i64), "size")?)
}
