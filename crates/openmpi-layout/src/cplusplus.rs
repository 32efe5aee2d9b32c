//! Open MPI's C++ library, `libmpi_cxx.so.40`: a constant that it adds, and its functions that the C library
//! calls.

use core::ffi::{CStr, c_void};

use crate::constants::MPI_ERRORS_THROW_EXCEPTIONS;
use crate::handle::MPI_Errhandler;

/// The error handler that throws C++ exceptions.
pub const THROWING_HANDLER: Option<MPI_Errhandler> = Some(MPI_ERRORS_THROW_EXCEPTIONS);

/// Returns the C++ library; null if it is not loaded. It stays loaded, because the program needs it.
fn library() -> *mut c_void {
    // The name finds a library that was loaded privately for another one.
    // SAFETY: the name is a string; nothing is loaded.
    let library = unsafe { libc::dlopen(c"libmpi_cxx.so.40".as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if !library.is_null() {
        // SAFETY: it was found above.
        unsafe { libc::dlclose(library) };
    }
    library
}

/// Returns true if the C++ library is loaded.
pub fn is_loaded() -> bool {
    !library().is_null()
}

/// Returns a function of the C++ library by name; null if the library is not loaded.
pub fn function(name: &CStr) -> *const c_void {
    let library = library();
    if library.is_null() {
        return core::ptr::null();
    }
    // SAFETY: the name is a string, and the library is loaded.
    unsafe { libc::dlsym(library, name.as_ptr()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_loaded_has_no_functions() {
        assert!(!is_loaded() && function(c"ompi_mpi_cxx_op_intercept").is_null());
    }
}
