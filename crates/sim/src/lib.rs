//! Simulated networks and their users. Rails simulate networks ([`world`]); wrappers make packets go wrong
//! ([`fault`]) and repair it ([`reliable`]); parameter files describe networks ([`preset`]). Campaigns run
//! random programs of the real protocols ([`campaign`]). Scripts are programs whose calls take time
//! ([`script`]).
//!
//! Everything runs on virtual time, in one thread for each world, from a seed. There is no process, no socket
//! and no clock.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod campaign;
mod delegate;
pub mod fault;
pub mod preset;
pub mod reliable;
pub mod script;
pub mod world;
