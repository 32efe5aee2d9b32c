//! Keys of attributes of windows.

use core::ffi::c_int;

use canele_mpi::attribute::ObjectKind::Window;

use super::Value;
use super::functions::{CopyFunction, DeleteFunction};
use crate::error::CallResult;
use crate::pointer::Out;

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
