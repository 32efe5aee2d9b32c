//! What a library for Fortran asks of the one for C beside functions: nothing by this ABI, where it is written over functions of the standard.

use core::ffi::{CStr, c_int};

/// Variables of the library for Fortran, by name, that are told addresses of this ABI.
pub const VARIABLES: &[(&CStr, usize)] = &[];

/// True if the library for Fortran says by calls of its own how the functions of a key are called.
pub const SETS_PROXIES: bool = false;

/// Returns the key in C of an attribute's key in Fortran: the same.
pub fn keyval_in_c(keyval: c_int) -> c_int {
    keyval
}

/// Returns the number in Fortran of a handle with this value: the value.
#[inline(always)]
pub fn number_in_fortran(value: usize) -> c_int {
    value as c_int
}

/// Returns the value of a handle of a type in C that has this number in Fortran: the number.
#[inline(always)]
pub fn value_in_c(_of: &str, number: c_int) -> usize {
    number as usize
}

/// Prepares what a library for Fortran needs, where one is loaded: nothing by this ABI.
pub fn prepare() {}
