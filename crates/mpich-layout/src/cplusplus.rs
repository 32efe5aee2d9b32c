//! MPICH's C++ library, `libmpicxx.so.12`: a constant that it adds. It names its functions by calls.

use core::ffi::{CStr, c_void};

use crate::constants::MPIR_ERRORS_THROW_EXCEPTIONS;
use crate::handle::MPI_Errhandler;

/// The error handler with which the C++ library throws exceptions; functions of C return the code.
pub const THROWING_HANDLER: Option<MPI_Errhandler> = Some(MPIR_ERRORS_THROW_EXCEPTIONS);

/// Returns a function of the C++ library by name; null, since no function is looked up by its name.
pub fn function(_name: &CStr) -> *const c_void {
    core::ptr::null()
}
