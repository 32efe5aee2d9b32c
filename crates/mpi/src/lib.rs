//! The semantics of MPI on Canelé: what the standard's objects are and what its calls do, without C types or handles.
//!
//! ```text
//!   C program ──▶ mpi-abi: handles, pointers, constants ──▶ here: objects and calls ──▶ engine: messages, collectives
//! ```
//! Memory of the program comes as [`Raw`](canele_mem::buffer::Raw) or [`RawMut`](canele_mem::buffer::RawMut), which only the edge can make.
//! Errors name the class of the standard, and in words the argument, its value and what to do; which handler is called with them is the
//! edge's business.
#![forbid(unsafe_code)]

pub mod attribute;
pub mod awaited;
pub mod buffered;
pub mod collective;
mod comm;
mod data;
pub mod datatype;
pub mod dynamic;
mod errhandler;
mod error;
pub mod error_classes;
mod failure;
pub mod file;
pub mod generalized;
pub mod group;
pub mod info;
mod memory;
pub mod op;
pub mod partitioned;
pub mod point;
mod process;
pub mod process_set;
pub mod request;
pub mod session;
mod status;
pub mod tools;
pub mod topology;
pub mod window;
mod world;

pub use canele_engine::{Mode, Rank, Tag};
pub use comm::{Comm, split_type};
pub use data::{Data, DataMut, Elements, ElementsMut};
pub use errhandler::Errhandler;
pub use error::{Class, Error, Result};
pub use process::{NotSet, Process, ThreadLevel};
pub use status::{Origin, Status};
pub use world::World;
