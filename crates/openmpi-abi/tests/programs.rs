//! The C programs and the conformance program of the standard's ABI, compiled for Open MPI's, assert and
//! print the same. Programs built for Open MPI itself (`scripts/debian-programs`) show that the values are
//! Open MPI's.

#[path = "../../mpi-abi/tests/support/other_abi.rs"]
mod other_abi;
#[path = "../../mpi-abi/tests/support/mod.rs"]
mod support;
