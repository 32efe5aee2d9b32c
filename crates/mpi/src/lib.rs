//! The semantics of MPI on Canelé: the standard's objects and calls, without C types or handles.
//!
//! ```text
//!   C program ──▶ mpi-abi: handles, pointers, constants ──▶ here: objects and calls ──▶ engine: messages, collectives
//! ```
//! Memory of the program is a [`Raw`](canele_mem::buffer::Raw) or a [`RawMut`](canele_mem::buffer::RawMut),
//! which only the C interface can make. An error has a class of the standard and a text with the argument,
//! its value and the remedy. The C interface calls the error handler.
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
