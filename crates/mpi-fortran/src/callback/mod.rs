//! Functions of the program in Fortran, and the C functions that call them.
//!
//! Fortran passes all arguments by reference, and handles as numbers. Each argument has eight bytes here; an
//! INTEGER or LOGICAL of four bytes is its first half on little-endian processors. If C passes a state, the
//! state holds the function. Otherwise each function gets a slot with a C function of its own.

mod attribute;
mod datarep;
mod errhandler;
mod grequest;
mod op;
mod slot;

use core::ffi::{c_int, c_void};

/// The address of a function in Fortran.
type Function = *const c_void;

/// Functions of the program, and their state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    functions: [usize; 3],
    /// `extra_state`.
    value: i64,
    /// True for the functions of MPI 1, whose values have type INTEGER.
    is_old: bool,
}

/// Converts the error code that Fortran has set.
fn code(ierror: i64) -> c_int {
    ierror as c_int
}

/// Converts a LOGICAL; all compilers use an odd number for true.
fn truth(logical: i64) -> c_int {
    c_int::from(logical & 1 != 0)
}

#[cfg(target_endian = "big")]
compile_error!("values of four and eight bytes begin at different places here");
