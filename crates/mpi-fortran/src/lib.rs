//! `libcanele_fort.so.0`: the parts of Canelé's Fortran modules that Fortran cannot express (MPI 5.0, chapter
//! 19).
//!
//! The program's compiler compiles the modules, which call C's functions themselves. They use this library
//! for:
//!
//! ```text
//!   place.rs        constants identified by address: MPI_BOTTOM, MPI_IN_PLACE, ignored statuses
//!   descriptor.rs   the compiler's array descriptors
//!   buffer.rs       the arguments of C for such an array: its address, a datatype, or a copy
//!     copy.rs         the copy of a part of an array
//!     section.rs      the datatype of a part of an array
//!   text.rs         arrays of strings
//!   callback/       functions of the program, and the C functions that call them
//!   attribute.rs    attribute values that are addresses in C
//!     kept.rs         values that Fortran has set
//!   request.rs      resources of requests
//!     life.rs         the resources at the start, completion and freeing of requests
//!     later.rs        handles that C writes when a request completes
//!   long.rs         support for an INTEGER of eight bytes
//!   error.rs        errors that this library detects
//!   group.rs        lengths of arrays with an element for each rank
//!   prepare.rs      properties of the Fortran compiler
//! ```
//! It uses only functions of the standard ABI, so it works with any library of that ABI.
//!
//! Trust in Fortran: an address must point to the type that the modules declare. C's functions check numbers.
#![allow(non_snake_case)] // Names of C's functions are the standard's.

mod attribute;
mod buffer;
mod callback;
mod copy;
mod descriptor;
mod error;
mod group;
mod kept;
mod later;
mod long;
mod mpi;
mod place;
mod prepare;
mod request;
mod section;
mod text;
