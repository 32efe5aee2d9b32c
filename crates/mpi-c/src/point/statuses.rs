//! Reading and setting statuses (MPI 5.0, §3.2.5, §3.8.4, §13.3).

use core::ffi::c_int;

use crate::error::CallResult;
use crate::pointer::{In, Out};
use crate::status::MPI_Status;

/// `MPI_Test_cancelled`.
pub fn test_cancelled(status: In<MPI_Status>, flag: Out<c_int>) -> CallResult {
    let status = &status.slice(1, "status")?[0];
    Ok(flag.set(c_int::from(status.cancelled()), "flag")?)
}

/// `MPI_Status_set_cancelled`.
pub fn status_set_cancelled(status: Out<MPI_Status>, flag: c_int) -> CallResult {
    let status = &mut status.slice(1, "status")?[0];
    Ok(status.set_outcome(status.bytes(), flag != 0))
}

/// `MPI_Status_get_source`.
pub fn status_get_source(status: In<MPI_Status>, source: Out<c_int>) -> CallResult {
    Ok(source.set(status.slice(1, "status")?[0].MPI_SOURCE, "source")?)
}

/// `MPI_Status_get_tag`.
pub fn status_get_tag(status: In<MPI_Status>, tag: Out<c_int>) -> CallResult {
    Ok(tag.set(status.slice(1, "status")?[0].MPI_TAG, "tag")?)
}

/// `MPI_Status_get_error`.
pub fn status_get_error(status: In<MPI_Status>, err: Out<c_int>) -> CallResult {
    Ok(err.set(status.slice(1, "status")?[0].MPI_ERROR, "err")?)
}

/// `MPI_Status_set_source`.
pub fn status_set_source(status: Out<MPI_Status>, source: c_int) -> CallResult {
    status.slice(1, "status")?[0].MPI_SOURCE = source;
    Ok(())
}

/// `MPI_Status_set_tag`.
pub fn status_set_tag(status: Out<MPI_Status>, tag: c_int) -> CallResult {
    status.slice(1, "status")?[0].MPI_TAG = tag;
    Ok(())
}

/// `MPI_Status_set_error`.
pub fn status_set_error(status: Out<MPI_Status>, err: c_int) -> CallResult {
    status.slice(1, "status")?[0].MPI_ERROR = err;
    Ok(())
}
