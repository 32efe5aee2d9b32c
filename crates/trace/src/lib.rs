//! The records of a rank for a trace (`canele run --trace`): events in memory that outlives the rank.
//!
//! ```text
//!   calls, waits, collectives, messages, accesses ─▶ Tracer ─▶ Log (memfd) ─mapped─▶ launcher or agent
//! ```
//! Owns the form of events and of the memory in which they are stored. It never waits and reads no file. The
//! launcher makes the trace from the events. A log has a maximum size; events that find no room are counted.
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
