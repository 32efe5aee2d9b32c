//! What Open MPI's library for C++ asks for beside functions: nothing by an ABI that is another's.

use core::ffi::{CStr, c_void};

use crate::handle::MPI_Errhandler;

/// The error handler that throws exceptions of C++: there is none.
pub const THROWING_HANDLER: Option<MPI_Errhandler> = None;

/// Returns a function of the library by its name; null, as there is no such library.
pub fn function(_name: &CStr) -> *const c_void {
    core::ptr::null()
}
