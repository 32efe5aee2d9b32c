//! Collectives of the members of a flow, on any protocols and any rail.
//!
//! ```text
//!   spec ──choose──▶ schedule (cached) ──▶ ScheduleRun::advance: short messages straight over the rail
//!                                           └─▶ transfers: long data, and messages that a thread sleeps for
//! ```
//! A collective is a schedule (`schedule`) that a run (`schedule_run`) carries out step by step. Nothing here
//! waits: a blocking call of the engine drives a [`ScheduleRun`] and waits for its messages. A
//! [`CollectiveRequest`] owns its memory and advances whenever it is asked to. Each call has a number, which
//! is its messages' tag. It is equal on all members because all make the same calls in the same order. So
//! messages of two calls never mix, and any number of calls may be under way.
//!
//! On one host long data may be published instead of sent: in shared buffers (`shared_buffers`), in memory
//! that all members can read. Messages announce it.
//!
//! Members are all ranks of the job or a team of them ([`Team`]). A member that died fails the collective on
//! every other one, and every later one on the flow ([`MemberLiveness`]). Nothing is retried and no rank is
//! left out: [`survivors`] has the agreements of the members that are left.
//!
//! This crate never waits, reads a clock, or decides by the order of arrivals (see `choose`).
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod agreement;
mod buffers;
mod build;
mod calls;
mod choose;
mod error;
mod hosts;
mod memory;
mod pairs;
mod reduce;
mod request;
mod schedule;
mod schedule_cache;
mod schedule_run;
mod shared_buffers;
mod spec;
pub mod survivors;
mod team;
#[cfg(test)]
mod tests;
mod transfers;

pub use agreement::{Agreement, Next, conjunction};
pub use buffers::{Buffers, CollectiveBuffer};
pub use calls::Calls;
pub use choose::{Algorithm, Candidate, CollectiveCosts, HostLevels, Seat};
pub use error::Error;
pub use hosts::Hosts;
pub use memory::{Back, Memory, Slices, User};
pub use pairs::{FIRST_GIVEN_OUT, FIRST_PAIR, Pairs, WINDOW, WINDOW_PAIRS, Words, first_of};
pub use reduce::{Element, Kernel, Number, Op, Reduction, SharedKernel};
pub use request::{CollectiveProgress, CollectiveRequest};
pub use schedule::{Area, Schedule, SharedBufferNeed, Span, Transfer};
pub use schedule_cache::ScheduleCache;
pub use schedule_run::{ScheduleRun, Stop};
pub use shared_buffers::{HEADER, SharedBuffer, SharedBufferPool, count_reader};
pub use spec::{Block, CollectiveSpec, Operation, Plan, Root, Shape, Uneven};
pub use team::{MemberLiveness, Team};
pub use transfers::Transfers;
