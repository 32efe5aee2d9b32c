//! Communicators (MPI 5.0, chapter 7).

mod ask;
pub(crate) mod create;
mod inter;
