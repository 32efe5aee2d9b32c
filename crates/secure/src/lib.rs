//! Encryption and authentication: a channel between two processes that have a secret in common. Each process
//! knows the identity of the other end, and that every frame comes from there.
//!
//! ```text
//!   initiator                          responder
//!      ── flight 1: ephemeral key, sealed hello, tag ──▶        both prove the secret, bound to the
//!      ◀── flight 2: ephemeral key, sealed hello, tag ──        prologue that each end builds by itself
//!      ══ sealed frames, a counter and a key for each direction ══
//! ```
//! This is Noise's pattern NNpsk0 (the crate `snow`). Owns transcript, keys and counters. Sans-IO: it reads
//! no socket and no clock; a caller gives its nonce, or the system draws the ephemeral key ([`KeyExchange`]).
//! The channel refuses a frame that was changed, repeated, left out, or moved, and all later frames.
//!
//! Links, agents behind remote shells and agents that join prove their keys by [`MutualProof`]. The channels
//! of agents go on with sealed frames. A link ends its channel after one frame of each end: the initiator's
//! frame proves the initiator, and the responder's carries its decision.

#![forbid(unsafe_code)]

mod beats;
mod exchange;
mod keys;
mod proof;
mod sealing;

pub use beats::{BEAT, BeatKey, BeatSealer};
pub use exchange::{KeyExchange, NONCE};
pub use keys::{KeyPurpose, Secret, derive_key};
pub use proof::{Initiator, MutualProof, Prologue, Responder, SecureChannel, flight_length};
pub use sealing::{MAX_PLAIN, Opener, Sealer, TAG};

/// The other end does not have the secret, names another connection, or a frame differs from the sent one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The handshake failed.
    #[error("the other end does not prove that it has the secret for this connection")]
    Handshake,
    /// A frame was refused.
    #[error("a frame that the other end did not send in this place")]
    Frame,
    /// A beat was refused.
    #[error("a beat that the other end did not send in this place")]
    Beat,
    /// The system gave no random bytes, or the counter of frames has ended.
    #[error("no keys can be made")]
    Keys,
}

#[cfg(test)]
mod tests;
