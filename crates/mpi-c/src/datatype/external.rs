//! Packing in a representation that is equal on all machines (MPI 5.0, §5.3).

use canele_mpi::{Result, fail};

use super::pack::{packed, packed_mut};
use crate::buffer::data;
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, ObjectHandle};
use crate::pointer::{In, Out, RecvBuffer, SendBuffer, Text};
use crate::width::Count;

/// Fails unless the representation is "external32".
fn check(datarep: Text) -> Result<()> {
    match datarep.read("datarep")?.as_str() {
        "external32" => Ok(()),
        other => fail!(Argument, "datarep is {other:?}: it must be \"external32\""),
    }
}

/// `MPI_Pack_external`.
pub fn pack_external(
    datarep: Text,
    inbuf: SendBuffer,
    incount: Count,
    datatype: MPI_Datatype,
    outbuf: Out<u8>,
    outsize: i64,
    position: Out<i64>,
) -> CallResult {
    check(datarep)?;
    let data = data(inbuf, incount, datatype)?;
    let into = packed_mut(outbuf, outsize)?;
    let end = data.of.pack_external(&data.raw, data.count, into, position.get("position")?)?;
    Ok(position.set(end, "position")?)
}

/// `MPI_Unpack_external`.
pub fn unpack_external(
    datarep: Text,
    inbuf: In<u8>,
    insize: i64,
    position: Out<i64>,
    outbuf: RecvBuffer,
    outcount: Count,
    datatype: MPI_Datatype,
) -> CallResult {
    check(datarep)?;
    let mut data = data(outbuf, outcount, datatype)?;
    let from = packed(inbuf, insize)?;
    let end = data.of.unpack_external(from, position.get("position")?, &mut data.raw, data.count)?;
    Ok(position.set(end, "position")?)
}

/// `MPI_Pack_external_size`.
pub fn pack_external_size(
    datarep: Text,
    incount: Count,
    datatype: MPI_Datatype,
    size: Out<i64>,
) -> CallResult {
    check(datarep)?;
    let bytes = datatype.get()?.external_size(incount.get()?)?;
    Ok(size.set(bytes as i64, "size")?)
}
