//! Communicators (MPI 5.0, chapter 7).

pub mod ask;
pub mod create;
pub mod inter;
