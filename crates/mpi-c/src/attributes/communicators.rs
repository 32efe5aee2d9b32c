//! Attributes of communicators.

use core::ffi::c_int;

use canele_mpi::Result;
use canele_mpi::attribute::ObjectKind::Communicator;
use canele_mpi::attribute::Stored;

use super::functions::{CopyFunction, DeleteFunction};
use super::languages::in_c;
use super::{Value, predefined};
use crate::error::CallResult;
use crate::handle::{MPI_Comm, ObjectHandle};
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
    store_on_comm(comm, comm_keyval, super::of_c(attribute_val))
}

/// `MPI_Comm_get_attr`.
pub fn comm_get_attr(
    comm: MPI_Comm,
    comm_keyval: c_int,
    attribute_val: Out<Value>,
    flag: Out<c_int>,
) -> CallResult {
    let found = match predefined::value(comm.get()?, comm_keyval) {
        Some(value) => value,
        None => stored_on_comm(comm, comm_keyval)?.map(in_c),
    };
    super::give(found, attribute_val, flag)
}

/// Returns the value of a user-defined key.
pub(crate) fn stored_on_comm(comm: MPI_Comm, keyval: c_int) -> Result<Option<Stored>> {
    super::get(Communicator, comm.get()?.attributes(), keyval)
}

/// Sets the value of a key.
pub(crate) fn store_on_comm(comm: MPI_Comm, keyval: c_int, value: Stored) -> CallResult {
    let on = comm.share()?;
    super::set(Communicator, on.attributes(), on.number(), keyval, value)
}

/// `MPI_Comm_delete_attr`.
pub fn comm_delete_attr(comm: MPI_Comm, comm_keyval: c_int) -> CallResult {
    let on = comm.share()?;
    super::delete(Communicator, on.attributes(), on.number(), comm_keyval)
}
