//! Processes that are started by others (MPI 5.0, chapter 11).

pub(crate) mod command;
pub mod join;
pub mod ports;
pub mod spawn;
