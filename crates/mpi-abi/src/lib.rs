//! `libmpi_abi.so.1`: MPI for C programs, by the standard ABI of MPI 5.0 (chapter 20).
//!
//! This crate only exports the functions, which are generated from the table of `canele-mpi-tables`. Their
//! implementation is in `canele-mpi-c`.
#![allow(non_snake_case)] // The names are the standard's.
#![allow(clippy::too_many_arguments)] // The parameters are, too.

mod exports {
    use core::ffi::{c_char, c_double, c_int, c_void};

    use canele_mpi_c::cache::{CallCache, Word};
    use canele_mpi_c::constants::MPI_SUCCESS;
    use canele_mpi_c::error::{self, On};
    use canele_mpi_c::handle::*;
    use canele_mpi_c::point::route::Route;
    use canele_mpi_c::point::short::Attempt;
    use canele_mpi_c::types::*;
    use canele_mpi_c::width::WideArgument;
    use canele_mpi_c::*;

    include!(concat!(env!("OUT_DIR"), "/exports.rs"));
}
