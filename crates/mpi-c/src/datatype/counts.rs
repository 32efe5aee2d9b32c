//! Numbers of received elements (MPI 5.0, §3.2.5, §5.1.11, §13.3).

use canele_mpi::fail;

use crate::error::CallResult;
use crate::handle::{MPI_Datatype, ObjectHandle};
use crate::pointer::{In, Out};
use crate::status::MPI_Status;
use crate::width::{Count, OutCount, WideArgument};

/// `MPI_Get_count`.
pub fn get_count(status: In<MPI_Status>, datatype: MPI_Datatype, count: OutCount) -> CallResult {
    let bytes = status.slice(1, "status")?[0].bytes() as usize;
    let whole = datatype.get()?.count_of(bytes);
    Ok(count.set(whole.map(|n| n as i64), "count")?)
}

/// `MPI_Get_elements`.
pub fn get_elements(status: In<MPI_Status>, datatype: MPI_Datatype, count: OutCount) -> CallResult {
    elements(status, datatype, count)
}

/// `MPI_Get_elements_x`.
pub fn get_elements_x(status: In<MPI_Status>, datatype: MPI_Datatype, count: Out<i64>) -> CallResult {
    elements(status, datatype, OutCount::from_large(count.address()))
}

fn elements(status: In<MPI_Status>, datatype: MPI_Datatype, count: OutCount) -> CallResult {
    let bytes = status.slice(1, "status")?[0].bytes() as usize;
    let complete = datatype.get()?.elements_of(bytes);
    Ok(count.set(complete.and_then(|n| i64::try_from(n).ok()), "count")?)
}

/// `MPI_Status_set_elements`.
pub fn status_set_elements(status: Out<MPI_Status>, datatype: MPI_Datatype, count: Count) -> CallResult {
    set_elements(status, datatype, count)
}

/// `MPI_Status_set_elements_x`.
pub fn status_set_elements_x(status: Out<MPI_Status>, datatype: MPI_Datatype, count: i64) -> CallResult {
    set_elements(status, datatype, Count::from_large(count))
}

fn set_elements(status: Out<MPI_Status>, datatype: MPI_Datatype, count: Count) -> CallResult {
    let (of, n) = (datatype.get()?, count.get()?);
    let status = &mut status.slice(1, "status")?[0];
    match of.bytes_of(n) {
        Some(bytes) => Ok(status.set_outcome(bytes as u64, status.cancelled())),
        None => fail!(Count, "count is {n}: the datatype has {} bytes, so it cannot be", of.size()),
    }
}
