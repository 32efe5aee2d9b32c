//! Support for C++ libraries beyond functions: the standard's ABI has no such library.

use core::ffi::{CStr, c_void};

use crate::handle::MPI_Errhandler;

/// The error handler that throws C++ exceptions; this ABI has none.
pub const THROWING_HANDLER: Option<MPI_Errhandler> = None;

/// Returns a function of the C++ library by name; null, since there is no such library.
pub fn function(_name: &CStr) -> *const c_void {
    core::ptr::null()
}
