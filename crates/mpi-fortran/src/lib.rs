//! `libcanele_fort.so.0`: what Canelé's modules for Fortran cannot say in Fortran.

use core::ffi::{CStr, c_char};

/// The release of Canelé.
const RELEASE: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(release) => release,
    Err(_) => c"",
};

/// Returns the release of Canelé that the library belongs to.
// SAFETY: the name begins with Canelé's prefix for Fortran, and this crate alone defines it.
#[unsafe(no_mangle)]
pub extern "C" fn canele_fort_release() -> *const c_char {
    RELEASE.as_ptr()
}
