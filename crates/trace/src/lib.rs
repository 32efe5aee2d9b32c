//! What a rank records of itself for a trace (`canele run --trace`): events of 32 bytes in memory that outlives the rank.
//!
//! ```text
//!   calls, waits, collectives, messages ──▶ Tracer ──▶ Log (memfd) ──mapped──▶ the host's launcher or agent, after the rank's end
//! ```
//! Owns the shape of events and of the memory in which they lie. Never waits, and reads no file: what is made of events is the launcher's
//! business. A log is bounded: what finds no room is counted.
#![forbid(unsafe_code)]

mod event;
mod log;
mod tracer;

pub use event::{Event, EventKind, MessageVariant, NO_RANK, NO_TAG, RECORD_BYTES, Record, WaitKind};
pub use log::{Log, LogReader};
pub use tracer::{Span, Tracer};
