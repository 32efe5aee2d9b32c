//! Spawned processes, and processes that connect to each other (MPI 5.0, §11.8 to §11.10).

pub mod command;
mod ports;
mod spawn;

pub use command::Command;
pub use ports::{NAME_BYTES, Ports};
pub use spawn::Spawned;
pub(crate) use spawn::parent;
