//! `libcanele_fort.so.0`: what Canelé's modules for Fortran cannot say in Fortran (MPI 5.0, chapter 19).
//!
//! The modules are compiled by the compiler at hand and call C's functions themselves. They come here for
//!
//! ```text
//!   place.rs        constants that are known by their place: MPI_BOTTOM, MPI_IN_PLACE, ignored statuses
//!   descriptor.rs   arrays as the compiler describes them
//!   buffer.rs       what C is called with for such an array: its address, or a datatype, or a copy
//!     copy.rs         the copy of a part of an array
//!     section.rs      the datatype of a part of an array, of which C knows the address alone
//!   text.rs         arrays of strings
//!   callback/       functions of the program: what C calls in their place
//!   attribute.rs    values of attributes that are places in C
//!     kept.rs         those that Fortran has set
//!   request.rs      what requests need until they end
//!     life.rs         what happens to that when they start, complete and are freed
//!     later.rs        handles that C writes when a request completes
//!   long.rs         what differs where an INTEGER has eight bytes
//!   error.rs        errors that are found here
//!   group.rs        how long arrays are that have an element for each rank
//!   prepare.rs      what the types of Fortran are
//! ```
//! It stands on functions of the standard ABI alone, so that it runs beside any library with that ABI.
//!
//! Trusting Fortran: an address points to what the modules declare it as. Numbers are checked by C's functions.
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
