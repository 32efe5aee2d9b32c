//! Attributes of communicators.

use core::ffi::c_int;

use canele_mpi::attribute::ObjectKind::Communicator;

use super::functions::{CopyFunction, DeleteFunction};
use super::{Value, predefined};
use crate::error::CallResult;
use crate::handle::MPI_Comm;
use crate::pointer::Out;

/// `MPI_Comm_create_keyval`.
pub fn comm_create_keyval(
    comm_copy_attr_fn: CopyFunction,
    comm_delete_attr_fn: DeleteFunction,
    comm_keyval: Out<c_int>,
    extra_state: Value,
) -> CallResult {
    super::create(Communicator, comm_copy_attr_fn, comm_delete_attr_fn, comm_keyval, extra_state)
}

/// `MPI_Comm_free_keyval`.
pub fn comm_free_keyval(comm_keyval: Out<c_int>) -> CallResult {
    super::free(Communicator, comm_keyval)
}

/// `MPI_Comm_set_attr`.
pub fn comm_set_attr(comm: MPI_Comm, comm_keyval: c_int, attribute_val: Value) -> CallResult {
    let on = comm.share()?;
    super::set(Communicator, on.attributes(), on.number(), comm_keyval, attribute_val)
}

/// `MPI_Comm_get_attr`.
pub fn comm_get_attr(
    comm: MPI_Comm,
    comm_keyval: c_int,
    attribute_val: Out<Value>,
    flag: Out<c_int>,
) -> CallResult {
    let on = comm.get()?;
    let found = match predefined::value(comm_keyval) {
        Some(value) => value,
        None => super::get(Communicator, on.attributes(), comm_keyval)?,
    };
    super::give(found, attribute_val, flag)
}

/// `MPI_Comm_delete_attr`.
pub fn comm_delete_attr(comm: MPI_Comm, comm_keyval: c_int) -> CallResult {
    let on = comm.share()?;
    super::delete(Communicator, on.attributes(), on.number(), comm_keyval)
}
