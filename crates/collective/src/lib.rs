//! Collectives: what the members of a flow do together, on any protocols and any rail.
//!
//! ```text
//!   spec ──choose──▶ schedule (kept for the next time) ──▶ ScheduleRun::advance: short messages straight to and from the rail
//!                                                           └─▶ transfers: what is long, or has to be slept for
//! ```
//! A collective is a schedule (`schedule`) that a run (`run`) carries out step by step. Nothing here waits: a blocking call of the
//! engine drives a [`ScheduleRun`] and waits for its messages; a [`CollectiveRequest`] owns its memory and goes on whenever it is asked to.
//! Each call has a number, equal on all members because all make the same calls in the same order, which is its messages' tag: messages of
//! two calls never mix, and any number of calls may be under way.
//!
//! On one host long data may be published instead of sent: in shared buffers (`shared_buffers`), in memory that all members can
//! read. Messages say that it is there.
//!
//! Members are all ranks of the job or a team of them ([`Team`]). A member that died fails the collective on every other one, and
//! every later one on the flow ([`MemberLiveness`]). Nothing is retried and no rank is left out: what the members that are left agree on
//! is in [`survivors`].
//!
//! What this crate never does: wait, read a clock, or decide by what arrives first (see `choose`).
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
pub use pairs::{FIRST_PAIR, Pairs, WINDOW, WINDOW_PAIRS, Words, first_of};
pub use reduce::{Element, Kernel, Number, Op, Reduction, SharedKernel};
pub use request::{CollectiveProgress, CollectiveRequest};
pub use schedule::{Area, Schedule, SharedBufferNeed, Span, Transfer};
pub use schedule_cache::ScheduleCache;
pub use schedule_run::{ScheduleRun, Stop};
pub use shared_buffers::{HEADER, SharedBuffer, SharedBufferPool, count_reader};
pub use spec::{Block, CollectiveSpec, Operation, Plan, Root, Shape, Uneven};
pub use team::{MemberLiveness, Team};
pub use transfers::Transfers;
