//! What is done with simulated networks: those of the papers and of today from parameter files ([`preset`]), and campaigns of
//! random programs of the real protocols on them ([`campaign`]).
//!
//! Everything runs on virtual time, in one thread per world, from a seed. No process, no socket, no clock.
#![forbid(unsafe_code)]

pub mod campaign;
pub mod preset;
