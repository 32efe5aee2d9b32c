//! Spawned and connected processes (MPI 5.0, chapter 11).

pub(crate) mod command;
pub mod join;
pub mod ports;
pub mod spawn;
