//! The calls that look at requests and leave them as they are (MPI 5.0, §3.7.6).

use core::ffi::c_int;

use canele_mpi::Status;

use super::complete::array;
use super::wait;
use crate::constants::MPI_UNDEFINED;
use crate::error::{CallResult, Failed};
use crate::handle::MPI_Request;
use crate::pointer::Out;
use crate::requests::{requests, status_at_once};
use crate::status::StatusOut;

/// `MPI_Request_get_status`.
pub fn request_get_status(request: MPI_Request, flag: Out<c_int>, status: StatusOut) -> CallResult {
    let ended = match wait::first_ended(&[request], false)? {
        Ok(_) => true,
        Err(active) => !active,
    };
    flag.set(c_int::from(ended), "flag")?;
    if ended {
        status.set(peek(request, "MPI_Request_get_status")?);
    }
    Ok(())
}

/// The status of a request that has ended, or that is not active; it stays as it is.
fn peek(handle: MPI_Request, function: &str) -> Result<Status, Failed> {
    if let Some(status) = status_at_once(handle) {
        return Ok(status);
    }
    // Functions of the program's may be called, by the operation or by the handler: the table is free then.
    let (operation, kept) = {
        let mut table = requests()?;
        let request = table.get(handle)?;
        match request.operation().cloned() {
            None => (None, request.peek()),
            operation => (operation, None),
        }
    };
    let status = operation.map(|operation| operation.status()).or(kept);
    status.unwrap_or(Ok(Status::EMPTY)).map_err(|error| wait::raise_of(handle, function, error))
}

/// `MPI_Request_get_status_all`.
pub fn request_get_status_all(
    count: c_int,
    requests: Out<MPI_Request>,
    flag: Out<c_int>,
    statuses: StatusOut,
) -> CallResult {
    let handles = array(count, requests)?;
    let (under_way, _) = wait::count(handles)?;
    flag.set(c_int::from(under_way == 0), "flag")?;
    if under_way > 0 {
        return Ok(());
    }
    for (at, handle) in handles.iter().enumerate() {
        statuses.set_at(at, peek(*handle, "MPI_Request_get_status_all")?);
    }
    Ok(())
}

/// `MPI_Request_get_status_any`.
pub fn request_get_status_any(
    count: c_int,
    requests: Out<MPI_Request>,
    index: Out<c_int>,
    flag: Out<c_int>,
    status: StatusOut,
) -> CallResult {
    let handles = array(count, requests)?;
    match wait::first_ended(handles, false)? {
        Ok(at) => {
            status.set(peek(handles[at], "MPI_Request_get_status_any")?);
            flag.set(1, "flag")?;
            Ok(index.set(at as c_int, "index")?)
        }
        Err(active) => {
            if !active {
                status.set_empty();
            }
            flag.set(c_int::from(!active), "flag")?;
            Ok(index.set(MPI_UNDEFINED, "index")?)
        }
    }
}

/// `MPI_Request_get_status_some`.
pub fn request_get_status_some(
    incount: c_int,
    requests: Out<MPI_Request>,
    outcount: Out<c_int>,
    indices: Out<c_int>,
    statuses: StatusOut,
) -> CallResult {
    let handles = array(incount, requests)?;
    if wait::count(handles)? == (0, 0) {
        return Ok(outcount.set(MPI_UNDEFINED, "outcount")?);
    }
    let mut n = 0;
    for (at, handle) in handles.iter().enumerate() {
        if wait::has_ended(*handle)? {
            statuses.set_at(n, peek(*handle, "MPI_Request_get_status_some")?);
            indices.set_at(n, at as c_int, "array_of_indices")?;
            n += 1;
        }
    }
    Ok(outcount.set(n as c_int, "outcount")?)
}
