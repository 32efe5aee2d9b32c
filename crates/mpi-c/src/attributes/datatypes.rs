//! Attributes of datatypes, which belong to a handle.

use core::ffi::c_int;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use canele_mpi::Result;
use canele_mpi::attribute::{Attributes, ObjectKind::Datatype, Stored};

use super::Value;
use super::functions::{CopyFunction, DeleteFunction};
use super::languages::in_c;
use crate::error::CallResult;
use crate::handle::{MPI_Datatype, ObjectHandle};
use crate::pointer::Out;

/// The attributes of all handles that have or had any.
static TABLE: LazyLock<Mutex<HashMap<usize, Arc<Attributes>>>> = LazyLock::new(Mutex::default);

fn table() -> MutexGuard<'static, HashMap<usize, Arc<Attributes>>> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the attributes of a datatype's handle.
fn of(datatype: MPI_Datatype) -> Result<Arc<Attributes>> {
    datatype.get()?;
    Ok(table().entry(datatype.value()).or_default().clone())
}

/// Copies attributes to the duplicate that `MPI_Type_dup` has made.
///
/// # Errors
/// Fails if a function of the program fails; the duplicate must be freed.
pub fn copy_of_datatype(datatype: MPI_Datatype, duplicate: MPI_Datatype) -> Result<()> {
    let Some(attributes) = table().get(&datatype.value()).cloned() else { return Ok(()) };
    attributes.copy_into(datatype.value(), &*of(duplicate)?)
}

/// Deletes the attributes of a datatype's handle before it is freed.
///
/// # Errors
/// Fails if a function of the program refuses; the handle stays.
pub fn datatype_goes(datatype: MPI_Datatype) -> Result<()> {
    let Some(attributes) = table().get(&datatype.value()).cloned() else { return Ok(()) };
    attributes.clear(datatype.value())?;
    table().remove(&datatype.value());
    Ok(())
}

/// `MPI_Type_create_keyval`.
pub fn type_create_keyval(
    type_copy_attr_fn: CopyFunction,
    type_delete_attr_fn: DeleteFunction,
    type_keyval: Out<c_int>,
    extra_state: Value,
) -> CallResult {
    super::create(Datatype, type_copy_attr_fn, type_delete_attr_fn, type_keyval, extra_state)
}

/// `MPI_Type_free_keyval`.
pub fn type_free_keyval(type_keyval: Out<c_int>) -> CallResult {
    super::free(Datatype, type_keyval)
}

/// `MPI_Type_set_attr`.
pub fn type_set_attr(datatype: MPI_Datatype, type_keyval: c_int, attribute_val: Value) -> CallResult {
    store_on_type(datatype, type_keyval, super::of_c(attribute_val))
}

/// Sets the value of a key.
pub(crate) fn store_on_type(datatype: MPI_Datatype, keyval: c_int, value: Stored) -> CallResult {
    super::set(Datatype, &*of(datatype)?, datatype.value(), keyval, value)
}

/// Returns the value of a key.
pub(crate) fn stored_on_type(datatype: MPI_Datatype, keyval: c_int) -> Result<Option<Stored>> {
    super::get(Datatype, &*of(datatype)?, keyval)
}

/// `MPI_Type_get_attr`.
pub fn type_get_attr(
    datatype: MPI_Datatype,
    type_keyval: c_int,
    attribute_val: Out<Value>,
    flag: Out<c_int>,
) -> CallResult {
    super::give(stored_on_type(datatype, type_keyval)?.map(in_c), attribute_val, flag)
}

/// `MPI_Type_delete_attr`.
pub fn type_delete_attr(datatype: MPI_Datatype, type_keyval: c_int) -> CallResult {
    super::delete(Datatype, &*of(datatype)?, datatype.value(), type_keyval)
}
