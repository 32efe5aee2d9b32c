//! What the members of a group that live do together though others die: an agreement, and the news that a group is revoked.
//!
//! ```text
//!   start, revoke ─▶ ┌───────────┐ ─▶ messages to other members
//!   messages      ─▶ │ Consensus │
//!   deaths        ─▶ │ Revocations ─▶ decisions, groups that are revoked
//!                    └───────────┘
//! ```
//! No I/O, no clock, no randomness, and no detection: the owner of these states tells them of each rank that is gone, after its last
//! message, and tells all ranks of the same ones (the launcher does so). That makes the detection perfect, on which both
//! protocols rely: no rank that is told to be gone is heard of again.

mod consensus;
mod message;
mod revocation;

pub use consensus::{Consensus, Contribution, Decision, Name};
pub use message::{Malformed, Message};
pub use revocation::Revocations;
