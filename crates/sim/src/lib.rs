//! Simulated networks and what runs on them: the networks as rails ([`world`]), wrappers that make packets go wrong ([`fault`]) and
//! mend them ([`reliable`]), networks from parameter files ([`preset`]), and campaigns of random
//! programs of the real protocols ([`campaign`]). Programs whose calls take time ([`script`]).
//!
//! Everything runs on virtual time, in one thread per world, from a seed. No process, no socket, no clock.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod campaign;
mod delegate;
pub mod fault;
pub mod preset;
pub mod reliable;
pub mod script;
pub mod world;
