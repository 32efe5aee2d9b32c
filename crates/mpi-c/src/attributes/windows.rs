//! Attributes of windows, user-defined and predefined (MPI 5.0, §7.7, §12.2.6).

use core::ffi::c_int;

use canele_mpi::Result;
use canele_mpi::attribute::ObjectKind::Window;
use canele_mpi::attribute::Stored;
use canele_mpi::window::{Flavor, Win};
use canele_sys::atomic::{AtomicU32, AtomicU64};

use super::Value;
use super::functions::{CopyFunction, DeleteFunction};
use super::languages::in_c;
use crate::constants::*;
use crate::error::CallResult;
use crate::handle::{MPI_Win, ObjectHandle};
use crate::pointer::Out;

/// The standard's values for windows, which the program reads by address.
static FLAVORS: [AtomicU32; 4] = [
    AtomicU32::new(MPI_WIN_FLAVOR_CREATE as u32),
    AtomicU32::new(MPI_WIN_FLAVOR_ALLOCATE as u32),
    AtomicU32::new(MPI_WIN_FLAVOR_DYNAMIC as u32),
    AtomicU32::new(MPI_WIN_FLAVOR_SHARED as u32),
];
static MODEL: AtomicU32 = AtomicU32::new(MPI_WIN_UNIFIED as u32);

fn address_of(number: &AtomicU32) -> Value {
    (&raw const *number).cast_mut().cast()
}

/// Returns the value of a predefined key; none for user-defined keys.
pub(crate) fn predefined(win: &Win, keyval: c_int) -> Option<Value> {
    let wide = |number: &AtomicU64| (&raw const *number).cast_mut().cast();
    Some(match keyval {
        MPI_WIN_BASE => core::ptr::with_exposed_provenance_mut(win.address()),
        MPI_WIN_SIZE => wide(win.size()),
        MPI_WIN_DISP_UNIT => address_of(win.unit()),
        MPI_WIN_CREATE_FLAVOR => address_of(match win.flavor() {
            Flavor::Create => &FLAVORS[0],
            Flavor::Allocate => &FLAVORS[1],
            Flavor::Dynamic => &FLAVORS[2],
            Flavor::Shared => &FLAVORS[3],
        }),
        MPI_WIN_MODEL => address_of(&MODEL),
        _ => return None,
    })
}

/// `MPI_Win_create_keyval`.
pub fn win_create_keyval(
    win_copy_attr_fn: CopyFunction,
    win_delete_attr_fn: DeleteFunction,
    win_keyval: Out<c_int>,
    extra_state: Value,
) -> CallResult {
    super::create(Window, win_copy_attr_fn, win_delete_attr_fn, win_keyval, extra_state)
}

/// `MPI_Win_free_keyval`.
pub fn win_free_keyval(win_keyval: Out<c_int>) -> CallResult {
    super::free(Window, win_keyval)
}

/// `MPI_Win_set_attr`.
pub fn win_set_attr(win: MPI_Win, win_keyval: c_int, attribute_val: Value) -> CallResult {
    store_on_win(win, win_keyval, super::of_c(attribute_val))
}

/// Sets the value of a key.
pub(crate) fn store_on_win(win: MPI_Win, keyval: c_int, value: Stored) -> CallResult {
    let on = win.share()?;
    super::set(Window, on.attributes(), on.comm().number(), keyval, value)
}

/// Returns the value of a user-defined key.
pub(crate) fn stored_on_win(win: MPI_Win, keyval: c_int) -> Result<Option<Stored>> {
    super::get(Window, win.get()?.attributes(), keyval)
}

/// `MPI_Win_get_attr`.
pub fn win_get_attr(
    win: MPI_Win,
    win_keyval: c_int,
    attribute_val: Out<Value>,
    flag: Out<c_int>,
) -> CallResult {
    let found = match predefined(win.get()?, win_keyval) {
        Some(value) => Some(value),
        None => stored_on_win(win, win_keyval)?.map(in_c),
    };
    super::give(found, attribute_val, flag)
}

/// `MPI_Win_delete_attr`.
pub fn win_delete_attr(win: MPI_Win, win_keyval: c_int) -> CallResult {
    let on = win.share()?;
    super::delete(Window, on.attributes(), on.comm().number(), win_keyval)
}
