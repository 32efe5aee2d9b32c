//! Handles by the numbers that they have in Fortran, of an ABI where these are their values in C.

use core::ffi::c_int;

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
