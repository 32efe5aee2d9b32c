//! The two rings of a link: 64-byte cells, and a payload ring for what does not fit in one. One producer, one consumer.
//!
//! ```text
//!            producer's process                 shared memory                  consumer's process
//!   cells::Producer   head, room left ──▶ [cell][cell][cell]… stamps ──▶ cells::Consumer   position
//!                              ▲                                             │
//!                              └────────── Cursors: consumed, freed ◀────────┘   written now and then
//! ```
//! [`cells`] and [`payload`] hold the roles and the cursor arithmetic; where the memory lies is the driver's business
//! ([`cells::Cells`], [`payload::PayloadMemory`]). The consumer's cursors are the only thing it writes, and the producer reads
//! them only when the room it knows of is used up. Positions count from 0 for ever (`u64`); places are positions modulo
//! the ring's size.

pub mod cells;
pub mod payload;

use canele_sys::atomic::AtomicU64;

/// What the consumer tells the producer: a cache line of its own, written by the consumer only.
#[repr(C, align(64))]
#[derive(Default)]
pub struct Cursors {
    /// Cells consumed so far.
    pub consumed: AtomicU64,
    /// Payload bytes freed so far, skipped ones included.
    pub freed: AtomicU64,
}

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(loom)))]
mod tests;
