//! What a library for Fortran asks of the one for C beside functions: nothing by this ABI, where it is written over functions of the standard.

use core::ffi::{CStr, c_int};

#[path = "fortran_numbers.rs"]
mod numbers;
pub use numbers::{READS_FIELDS, fields, number_in_fortran, value_in_c};

/// Variables of the library for Fortran, by name, that are told addresses of this ABI.
pub const VARIABLES: &[(&CStr, usize)] = &[];

/// True if the library for Fortran says by calls of its own how the functions of a key are called.
pub const SETS_PROXIES: bool = false;

/// Returns the key in C of an attribute's key in Fortran: the same.
pub fn keyval_in_c(keyval: c_int) -> c_int {
    keyval
}
