//! The records of a rank for a trace (`canele run --trace`): events of 32 bytes in memory that outlives the rank.
//!
//! ```text
//!   calls, waits, collectives, messages, accesses ──▶ Tracer ──▶ Log (memfd) ──mapped──▶ the host's launcher or agent, after the rank's end
//! ```
//! Owns the shape of events and of the memory in which they lie. Never waits, and reads no file: what is made of events is the launcher's
//! business. A log is bounded: what finds no room is counted.
#![forbid(unsafe_code)]

mod event;
mod log;
mod recorded;
mod site;
mod tracer;

pub use event::{
    AccessRoute, Event, EventKind, MessageVariant, NO_RANK, NO_TAG, RECORD_BYTES, Record, WaitKind,
};
pub use log::{Log, LogReader};
pub use recorded::RankEvents;
pub use site::SiteFrame;
pub use tracer::{Span, Tracer};
