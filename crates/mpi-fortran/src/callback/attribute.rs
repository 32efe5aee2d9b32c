//! Copy and delete functions of attributes (MPI 5.0, section 7.7).

use core::ffi::{c_int, c_void};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::{Function, State, code, truth};
use crate::kept;
use crate::mpi::*;

/// The states of keys. Equal functions and values share a state, so that programs which make keys repeatedly
/// need no more memory.
static STATES: Mutex<Option<HashSet<&'static State>>> = Mutex::new(None);

/// Returns the state of a key, in which the functions below find the program's functions.
#[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
pub extern "C" fn canele_fort_attribute_state(
    copy: Function,
    delete: Function,
    value: i64,
    is_old: c_int,
) -> *const c_void {
    let state = State {
        functions: [copy.expose_provenance(), delete.expose_provenance(), 0],
        value,
        is_old: is_old != 0,
    };
    let mut states = STATES.lock().unwrap_or_else(PoisonError::into_inner);
    let states = states.get_or_insert_default();
    let known = states.get(&state).copied().unwrap_or_else(|| {
        let new: &'static State = Box::leak(Box::new(state));
        states.insert(new);
        new
    });
    (&raw const *known).cast()
}

type Copy = extern "C" fn(Handle, c_int, *const State, *mut c_void, *mut isize, *mut c_int) -> c_int;
type Delete = extern "C" fn(Handle, c_int, *mut c_void, *const State) -> c_int;

/// Defines the functions that C calls for the attributes of a kind of object.
macro_rules! kind {
    ($copy:ident, $copied:ident, $delete:ident, $deleted:ident, $number:ident) => {
        extern "C" fn $copied(
            old: Handle,
            key: c_int,
            state: *const State,
            value: *mut c_void,
            new: *mut isize,
            flag: *mut c_int,
        ) -> c_int {
            // SAFETY: MPI passes a handle, valid places, and the state that was made for the key.
            unsafe { copy($number(old), key, &*state, value.addr() as i64, &mut *new, &mut *flag) }
        }

        extern "C" fn $deleted(object: Handle, key: c_int, value: *mut c_void, state: *const State) -> c_int {
            // SAFETY: as above.
            unsafe { delete($number(object), key, value.addr() as i64, &*state) }
        }

        /// Returns the function that C calls to copy an attribute.
        #[unsafe(no_mangle)] // SAFETY: the prefix is Canelé's, and this crate alone defines the name.
        pub extern "C" fn $copy() -> *const c_void {
            $copied as Copy as *const c_void
        }

        /// Returns the function that C calls to delete an attribute.
        #[unsafe(no_mangle)] // SAFETY: as above.
        pub extern "C" fn $delete() -> *const c_void {
            $deleted as Delete as *const c_void
        }
    };
}

kind!(canele_fort_comm_copy_attr, comm_copied, canele_fort_comm_delete_attr, comm_deleted, PMPI_Comm_toint);
kind!(canele_fort_type_copy_attr, type_copied, canele_fort_type_delete_attr, type_deleted, PMPI_Type_toint);
kind!(canele_fort_win_copy_attr, win_copied, canele_fort_win_delete_attr, win_deleted, PMPI_Win_toint);
kind!(canele_fort_copy, old_copied, canele_fort_delete, old_deleted, PMPI_Comm_toint);

fn copy(old: c_int, key: c_int, state: &State, value: i64, new: &mut isize, flag: &mut c_int) -> c_int {
    type Of = extern "C" fn(*mut i64, *mut i64, *mut i64, *mut i64, *mut i64, *mut i64, *mut i64);
    let function = core::ptr::with_exposed_provenance::<c_void>(state.functions[0]);
    // SAFETY: the program gave a function that is called like this (MPI_Comm_copy_attr_function and its kin).
    let function: Of = unsafe { core::mem::transmute(function) };
    let kept = kept::value(value as usize);
    let seen = kept.unwrap_or(value);
    let (mut old, mut key, mut extra, mut value_in) = (i64::from(old), i64::from(key), state.value, seen);
    let (mut made, mut is_copied, mut ierror) = (0, 0, 0);
    function(&mut old, &mut key, &mut extra, &mut value_in, &mut made, &mut is_copied, &mut ierror);
    *flag = truth(is_copied);
    if *flag != 0 {
        // The sign of an INTEGER of four bytes is in its fourth byte.
        let made = if state.is_old { i64::from(made as i32) } else { made };
        // A value that C has set is copied unchanged.
        let is_of_c = kept.is_none() && made == seen;
        *new = if is_of_c { value as isize } else { kept::keep(made).expose_provenance() as isize };
    }
    code(ierror)
}

fn delete(object: c_int, key: c_int, value: i64, state: &State) -> c_int {
    type Of = extern "C" fn(*mut i64, *mut i64, *mut i64, *mut i64, *mut i64);
    let function = core::ptr::with_exposed_provenance::<c_void>(state.functions[1]);
    // SAFETY: the program gave a function that is called like this (MPI_Comm_delete_attr_function and its
    // kin).
    let function: Of = unsafe { core::mem::transmute(function) };
    let mut seen = kept::value(value as usize).unwrap_or(value);
    let (mut object, mut key, mut extra, mut ierror) = (i64::from(object), i64::from(key), state.value, 0);
    function(&mut object, &mut key, &mut seen, &mut extra, &mut ierror);
    if code(ierror) == SUCCESS {
        kept::forget(value as usize);
    }
    code(ierror)
}
