//! The C programs and the conformance program of the standard's ABI, compiled for Open MPI's: what they assert and print is the same. That the
//! values are Open MPI's is shown by programs that were built for it (`scripts/debian-programs`).

#[path = "../../mpi-abi/tests/support/other_abi.rs"]
mod other_abi;
#[path = "../../mpi-abi/tests/support/mod.rs"]
mod support;
