//! The two rings of a link: 64-byte cells, and a payload ring for longer data. Each has one producer and one
//! consumer.
//!
//! ```text
//!            producer's process                 shared memory                  consumer's process
//!   cells::Producer   head, room left ──▶ [cell][cell][cell]… stamps ──▶ cells::Consumer   position
//!                              ▲                                             │
//!                              └────────── Cursors: consumed, freed ◀────────┘   written rarely
//! ```
//! [`cells`] and [`payload`] have the roles and the cursor arithmetic; the driver chooses the memory
//! ([`cells::Cells`], [`payload::PayloadMemory`]). The consumer writes only its cursors. The producer reads
//! them only when its known room is used up. Positions count up from 0 without end (`u64`); places are
//! positions modulo the ring's size.

pub mod cells;
pub mod payload;

use canele_sys::atomic::AtomicU64;

/// The consumer's report to the producer, in a cache line that only the consumer writes.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Cursors {
    /// Cells consumed so far.
    pub consumed: AtomicU64,
    /// Payload bytes freed so far, including skipped ones.
    pub freed: AtomicU64,
}

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;
