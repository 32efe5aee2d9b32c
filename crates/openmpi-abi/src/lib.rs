//! `libmpi.so.40`: MPI for programs built for Open MPI 3 to 5.
//!
//! This crate exports the functions, like `canele-mpi-abi` for the standard ABI, and the other symbols of
//! Open MPI's header. The variables whose addresses are handles are in `canele-openmpi-layout`.
#![allow(non_snake_case)] // The names are the standard's.
#![allow(clippy::too_many_arguments)] // The parameters are, too.

mod exports {
    use core::ffi::{c_char, c_double, c_int, c_void};

    use canele_openmpi_c::cache::{CallCache, Word};
    use canele_openmpi_c::constants::MPI_SUCCESS;
    use canele_openmpi_c::error::{self, On};
    use canele_openmpi_c::handle::*;
    use canele_openmpi_c::point::route::Route;
    use canele_openmpi_c::point::short::Attempt;
    use canele_openmpi_c::types::*;
    use canele_openmpi_c::width::WideArgument;
    use canele_openmpi_c::*;

    include!(concat!(env!("OUT_DIR"), "/exports.rs"));
}

mod beside;
mod cplusplus;
mod fortran;
