//! Attributes as C programs use them (MPI 5.0, §7.7): keyvals with functions in C, values on communicators
//! and datatypes.
//!
//! The three kinds of objects share all code, since a function of the program gets their handles in the same
//! form.

pub mod communicators;
pub mod datatypes;
mod functions;
pub mod languages;
mod predefined;
pub mod windows;

use core::ffi::{c_int, c_void};
use std::sync::LazyLock;

pub use canele_mpi::attribute::ObjectKind;
use canele_mpi::attribute::{Attributes, Copy, Delete, Keyvals, Stored};
use canele_mpi::{Result, fail};

pub use datatypes::{copy_of_datatype, datatype_goes};
pub(crate) use predefined::set_last_used_code;
pub(crate) use predefined::value as predefined_of_comm;

use crate::constants::MPI_KEYVAL_INVALID;
use crate::error::CallResult;
use crate::pointer::Out;
pub use functions::{CopyFunction, DeleteFunction};
use languages::Proxies;

/// An attribute value of the program: an address.
pub type Value = *mut c_void;

/// The first user-defined key. Keys of the ABI are smaller or far larger.
const FIRST: i32 = 1 << 12;
/// The end of the range of user-defined keys.
const END: i32 = 1 << 24;

static KEYVALS: LazyLock<Keyvals> = LazyLock::new(|| Keyvals::new(FIRST));

fn create(
    kind: ObjectKind,
    copy: CopyFunction,
    delete: DeleteFunction,
    keyval: Out<c_int>,
    extra_state: Value,
) -> CallResult {
    let proxies = Proxies::default();
    let made = create_keyval(kind, copy, delete, extra_state, &proxies)?;
    crate::fortran::keyval_made(made, proxies);
    Ok(keyval.set(made, "keyval")?)
}

/// Makes a key; its functions are called by the proxies, if these are set.
///
/// # Errors
/// Fails if all keys are used.
pub(crate) fn create_keyval(
    kind: ObjectKind,
    copy: CopyFunction,
    delete: DeleteFunction,
    extra_state: Value,
    proxies: &Proxies,
) -> Result<c_int> {
    create_keyval_of(kind, copy.called(extra_state, proxies), delete.called(extra_state, proxies))
}

/// Makes a key with functions of this library.
///
/// # Errors
/// Fails if all keys are used.
pub(crate) fn create_keyval_of(kind: ObjectKind, copy: Copy, delete: Delete) -> Result<c_int> {
    KEYVALS.create(kind, copy, delete)
}

fn free(kind: ObjectKind, keyval: Out<c_int>) -> CallResult {
    let number = keyval.get("keyval")?;
    check_own(number)?;
    KEYVALS.free(kind, number)?;
    crate::fortran::keyval_freed(number);
    Ok(keyval.set(MPI_KEYVAL_INVALID, "keyval")?)
}

fn set(kind: ObjectKind, attributes: &Attributes, object: usize, keyval: c_int, value: Stored) -> CallResult {
    check_own(keyval)?;
    Ok(attributes.set(object, &KEYVALS.find(kind, keyval)?, value)?)
}

/// Converts a value that a program in C sets.
fn of_c(value: Value) -> Stored {
    Stored::Address(value.expose_provenance())
}

/// Stores a value, if there is one.
fn give(found: Option<Value>, attribute_val: Out<Value>, flag: Out<c_int>) -> CallResult {
    flag.set(c_int::from(found.is_some()), "flag")?;
    match found {
        Some(value) => Ok(attribute_val.set(value, "attribute_val")?),
        None => Ok(()),
    }
}

fn get(kind: ObjectKind, attributes: &Attributes, keyval: c_int) -> Result<Option<Stored>> {
    KEYVALS.find(kind, keyval)?;
    Ok(attributes.get(keyval))
}

fn delete(kind: ObjectKind, attributes: &Attributes, object: usize, keyval: c_int) -> CallResult {
    check_own(keyval)?;
    KEYVALS.find(kind, keyval)?;
    Ok(attributes.delete(object, keyval)?)
}

/// Fails for predefined keys.
fn check_own(keyval: c_int) -> Result<()> {
    if keyval != MPI_KEYVAL_INVALID && !(FIRST..END).contains(&keyval) {
        fail!(Keyval, "keyval {keyval} is predefined: what it stands for can only be read");
    }
    Ok(())
}
