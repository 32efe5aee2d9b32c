//! Verbs: accesses to the memory of a peer that the network carries out without the peer's process.
//!
//! ```text
//!   owner:   register(place, memory) … tells the place by a message …              … deregister(place)
//!   origin:  post_verb(link, token, verb) ─▶ progress of the rail ─▶ take_completion: token, result
//! ```
//! Every posted verb completes exactly once, in any order. Until then the rail holds its buffer. Afterwards
//! it touches neither the buffer nor the peer's memory. A driver with verbs passes the suite
//! `rma_conformance!` ([`mod@crate::conformance`]).

use std::sync::Arc;

use canele_mem::buffer::{InShare, MemoryAddress, OutShare};
use canele_mem::exposed::Exposed;
use canele_sys::ids::LinkId;
use canele_sys::segment::SegmentError;

use crate::{Rail, Region};

bitflags::bitflags! {
    /// The verbs that a rail has.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub struct Verbs: u8 {
        /// [`Verb::Put`].
        const PUT = 1;
        /// [`Verb::Get`].
        const GET = 1 << 1;
        /// [`Verb::FetchOp`].
        const FETCH_OP = 1 << 2;
        /// [`Verb::CompareSwap`].
        const COMPARE_SWAP = 1 << 3;
    }
}

/// An operation on a word of 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FetchOp {
    /// Adds, modulo 2^64.
    Add,
    /// Clears the bits that the operand does not have.
    And,
    /// Sets the bits that the operand has.
    Or,
    /// Inverts the bits that the operand has.
    Xor,
    /// Replaces the word.
    Replace,
}

/// An access to registered memory of a peer.
pub enum Verb {
    /// Writes `data`. The owner sees the data once the verb completes.
    Put {
        /// The data, of any length.
        data: OutShare,
        /// The address at the owner.
        to: MemoryAddress,
    },
    /// Reads as many bytes as `into` has.
    Get {
        /// The address at the owner.
        from: MemoryAddress,
        /// The local buffer.
        into: InShare,
    },
    /// Changes an aligned word of 64 bits. The completion has the previous value. The operation is atomic
    /// with respect to all verbs of the network and atomic instructions of the owner's host. An adapter that
    /// does not promise this lacks this verb.
    FetchOp {
        /// The word.
        at: MemoryAddress,
        /// The operation.
        op: FetchOp,
        /// The operand.
        operand: u64,
    },
    /// Replaces an aligned word of 64 bits if it has the expected value. The completion has the previous
    /// value. It is atomic as [`Verb::FetchOp`] is.
    CompareSwap {
        /// The word.
        at: MemoryAddress,
        /// The expected value.
        expected: u64,
        /// The new value.
        desired: u64,
    },
}

impl Verb {
    /// Returns the kind of the verb.
    pub fn kind(&self) -> Verbs {
        match self {
            Self::Put { .. } => Verbs::PUT,
            Self::Get { .. } => Verbs::GET,
            Self::FetchOp { .. } => Verbs::FETCH_OP,
            Self::CompareSwap { .. } => Verbs::COMPARE_SWAP,
        }
    }

    /// Returns the address at the owner, and the number of bytes that the verb touches there.
    pub fn target(&self) -> (MemoryAddress, usize) {
        match self {
            Self::Put { data, to } => (*to, data.len()),
            Self::Get { from, into } => (*from, into.len()),
            Self::FetchOp { at, .. } | Self::CompareSwap { at, .. } => (*at, size_of::<u64>()),
        }
    }
}

/// The error of a verb that was not carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VerbError {
    /// The owner has not registered such memory, the range exceeds it, or a word is not aligned. Nothing was
    /// touched.
    #[error("the owner has registered no such memory")]
    Refused,
    /// The link was lost or closed, or its peer is dead. It is unknown if the verb was carried out.
    #[error("the link was lost")]
    LinkLost,
}

/// The completion of a verb.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VerbCompletion {
    /// The token given to [`Rma::post_verb`].
    pub token: u64,
    /// The link of the verb.
    pub link: LinkId,
    /// The previous value for a verb on a word; otherwise 0.
    pub result: Result<u64, VerbError>,
}

/// A rail with verbs. The defaults are those of a rail that has none ([`Caps::verbs`](crate::Caps::verbs)).
pub trait Rma: Rail {
    /// Returns true if any link may have verbs.
    #[inline]
    fn has_verbs(&self) -> bool {
        false
    }

    /// Lets peers access memory of this rank by verbs until [`Rma::deregister`]. `_place` names its first
    /// byte. The rail keeps the memory until then. Memories with the same key do not overlap; a verb that
    /// exceeds one of them is refused.
    ///
    /// # Errors
    /// The system or the adapter has no room for it.
    fn register(&mut self, _place: MemoryAddress, _memory: &Exposed) -> Result<(), SegmentError> {
        Ok(())
    }

    /// Registers a region of this rank by [`Rma::register`].
    ///
    /// # Errors
    /// Returns the errors of [`Rma::register`].
    fn register_region(&mut self, region: &Arc<Region>) -> Result<(), SegmentError> {
        self.register(MemoryAddress::start(region.id()), &region.exposed())
    }

    /// Ends the access to the memory registered at `_place`: later verbs that reach it are refused.
    fn deregister(&mut self, _place: MemoryAddress) {}

    /// Posts a verb on an open link. Its completion carries `_token`, which the caller chooses.
    ///
    /// # Errors
    /// Returns the verb if the link is not open or has no room, or the rail lacks the verb. A completion of
    /// the link makes room.
    fn post_verb(&mut self, _link: LinkId, _token: u64, verb: Verb) -> Result<(), Verb> {
        Err(verb)
    }

    /// Takes the completion of a verb. It costs no system call, and [`Rail::arm`] reports untaken completions
    /// as work.
    fn take_completion(&mut self) -> Option<VerbCompletion> {
        None
    }
}
