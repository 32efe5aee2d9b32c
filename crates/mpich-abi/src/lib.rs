//! `libmpi.so.12`: MPI for programs built for MPICH 3.1 to 5.0, Intel MPI and other libraries of that ABI.
//!
//! This crate exports the functions, like `canele-mpi-abi` for the standard ABI, and the few variables of
//! MPICH's header.
#![allow(non_snake_case)] // The names are the standard's.
#![allow(clippy::too_many_arguments)] // The parameters are, too.

mod exports {
    use core::ffi::{c_char, c_double, c_int, c_void};

    use canele_mpich_c::cache::{CallCache, Word};
    use canele_mpich_c::constants::MPI_SUCCESS;
    use canele_mpich_c::error::{self, On};
    use canele_mpich_c::handle::*;
    use canele_mpich_c::point::route::Route;
    use canele_mpich_c::point::short::Attempt;
    use canele_mpich_c::types::*;
    use canele_mpich_c::width::WideArgument;
    use canele_mpich_c::*;

    include!(concat!(env!("OUT_DIR"), "/exports.rs"));
}

mod fortran;
mod variables;
