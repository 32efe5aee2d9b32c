//! Functions of the program in Fortran: what C calls in their place, and how they are called.
//!
//! Fortran passes all arguments by reference, handles as numbers. What is passed has eight bytes, of which an INTEGER or LOGICAL of four is the
//! first half: the compilers' processors are little-endian.
//! Where C gives a state, the state has the function. Where it gives none, each function has a slot with a function of its own for C.

mod attribute;
mod datarep;
mod errhandler;
mod grequest;
mod op;
mod slot;

use core::ffi::{c_int, c_void};

/// Address of a function in Fortran.
type Function = *const c_void;

/// Functions of the program, and what they are called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    functions: [usize; 3],
    /// `extra_state`.
    value: i64,
    /// True for the functions of MPI 1, whose values are of type INTEGER.
    is_old: bool,
}

/// The error code in an INTEGER that Fortran has set.
fn code(ierror: i64) -> c_int {
    ierror as c_int
}

/// The truth value in a LOGICAL: all compilers have an odd number for true.
fn truth(logical: i64) -> c_int {
    c_int::from(logical & 1 != 0)
}

#[cfg(target_endian = "big")]
compile_error!("values of four and eight bytes begin at different places here");
