//! Communicators (MPI 5.0, chapter 7).

mod ask;
mod create;
mod inter;
