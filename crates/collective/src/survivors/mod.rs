//! Protocols of the living members of a group though others die: an agreement, and the revocation of a group.
//!
//! ```text
//!   start, revoke ─▶ ┌───────────┐ ─▶ messages to other members
//!   messages      ─▶ │ Consensus │
//!   deaths        ─▶ │ Revocations ─▶ decisions, groups that are revoked
//!                    └───────────┘
//! ```
//! No I/O, no clock, no randomness, and no detection. The owner of these states reports each rank that is
//! gone, after its last message. All ranks get the same reports (the launcher sends them). That makes the
//! detection perfect, on which both protocols rely: no packet comes from a rank that was reported as gone.

mod consensus;
mod message;
mod revocation;

pub use consensus::{Consensus, Contribution, Decision, Name};
pub use message::{Malformed, Message};
pub use revocation::Revocations;
