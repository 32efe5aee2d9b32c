//! `libmpi_abi.so.1`: MPI for C programs, by the standard ABI of MPI 5.0 (chapter 20).
//!
//! This crate is the edge and nothing else: it knows handle values, struct layouts, constants and pointers; what the calls do
//! is in `canele_mpi`. Each function is written once under `#[mpi]`, which exports it as `MPI_…` and `PMPI_…`, and its
//! large-count twin; what no file defines is exported too, and fails with `MPI_ERR_UNSUPPORTED_OPERATION`.
//!
//! Trusting C: a pointer that is not null is taken to point where the standard says it points. Everything else (handles,
//! counts, ranks, tags, flags) is checked.
#![allow(non_camel_case_types)] // The names are the standard's.
#![allow(clippy::unit_arg)] // `Ok(…)` of a call that gives nothing turns its error into the edge's.

mod abi;
mod address;
pub mod attributes;
pub mod buffer;
mod call_cache;
pub mod codes;
mod collective;
mod comm;
pub mod constants;
mod conversions;
pub mod datatype;
mod deferred_recv;
mod errhandlers;
pub mod error;
mod error_classes;
mod generalized;
mod groups;
pub mod handle;
mod hardware;
pub mod infos;
mod leaks;
pub mod library;
mod memory;
pub mod operations;
pub mod point;
pub mod pointer;
mod program_call;
pub mod requests;
mod session;
pub mod status;
mod table;
mod topology;
pub mod width;

mod environment;

/// What no file defines.
mod unsupported {
    include!(concat!(env!("OUT_DIR"), "/unsupported.rs"));
}
