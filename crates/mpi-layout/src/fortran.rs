//! Support for a Fortran library beyond functions. This ABI needs none, since its Fortran library uses only
//! functions of the standard.

use core::ffi::{CStr, c_int};

#[path = "fortran_numbers.rs"]
mod numbers;
pub use numbers::{READS_FIELDS, fields, number_in_fortran, value_in_c};

/// Variables of the Fortran library, by name, that get addresses of this ABI.
pub const VARIABLES: &[(&CStr, usize)] = &[];

/// True if the Fortran library tells by calls of its own how the functions of a key are called.
pub const SETS_PROXIES: bool = false;

/// Returns the C key of an attribute's Fortran key: the same number.
pub fn keyval_in_c(keyval: c_int) -> c_int {
    keyval
}
