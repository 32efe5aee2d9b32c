//! The semantics of MPI on Canelé: what the standard's objects are and what its calls do, without C types or handles.
//!
//! ```text
//!   C program ──▶ mpi-abi: handles, pointers, constants ──▶ here: objects and calls ──▶ engine: messages, collectives
//! ```
//! Memory of the program comes as [`Raw`](canele_sys::buffer::Raw), which only the edge can make. Errors name the class of
//! the standard, and in words the argument, its value and what to do; which handler is called with them is the edge's business.
#![forbid(unsafe_code)]

pub mod datatype;
mod error;

pub use error::{Class, Error, Result};
