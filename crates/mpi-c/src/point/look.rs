//! The calls that query requests without changing them (MPI 5.0, §3.7.6).

use core::ffi::c_int;

use canele_mpi::{Error, Status};

use super::complete::array;
use super::wait;
use crate::constants::MPI_UNDEFINED;
use crate::error::CallResult;
use crate::handle::MPI_Request;
use crate::pointer::Out;
use crate::requests::{requests_with, status_at_once};
use crate::status::StatusOut;

/// `MPI_Request_get_status`.
pub fn request_get_status(request: MPI_Request, flag: Out<c_int>, status: StatusOut) -> CallResult {
    let ended = match wait::first_ended(&[request], false)? {
        Ok(_) => true,
        Err(active) => !active,
    };
    flag.set(c_int::from(ended), "flag")?;
    if ended {
        peek(request, (status, 0), "MPI_Request_get_status")?;
    }
    Ok(())
}

/// Stores the status of a completed or inactive request at an index of an array. The request does not change.
fn peek(handle: MPI_Request, (statuses, at): (StatusOut, usize), function: &str) -> CallResult {
    if let Some(status) = status_at_once(handle) {
        return Ok(statuses.set_at(at, status));
    }
    // The operation or the handler may call the program, so the table must not be locked.
    let (operation, kept, comm) = {
        let mut table = requests_with(handle)?;
        let request = table.get(handle)?;
        let comm = request.comm().cloned();
        match request.operation().cloned() {
            None => (None, request.peek(), comm),
            operation => (operation, None, comm),
        }
    };
    let status = operation.map(|operation| operation.status()).or(kept);
    let raised = |error: Box<Error>| {
        statuses.set_failed_at(at, comm.as_deref(), &error);
        wait::raise(comm.as_deref(), function, error)
    };
    Ok(statuses.set_at(at, status.unwrap_or(Ok(Status::EMPTY)).map_err(raised)?))
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
        peek(*handle, (statuses, at), "MPI_Request_get_status_all")?;
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
            peek(handles[at], (status, 0), "MPI_Request_get_status_any")?;
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
            peek(*handle, (statuses, n), "MPI_Request_get_status_some")?;
            indices.set_at(n, at as c_int, "array_of_indices")?;
            n += 1;
        }
    }
    Ok(outcount.set(n as c_int, "outcount")?)
}
