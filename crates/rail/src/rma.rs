//! Verbs: accesses to the memory of a peer that the network carries out, without help of the peer's process.
//!
//! ```text
//!   owner:   register(place, memory) … tells the place by a message …              … deregister(place)
//!   origin:  post_verb(link, token, verb) ─▶ progress of the rail ─▶ take_completion: token, result
//! ```
//! Every verb that was posted completes exactly once, in any order. Until then the rail holds its buffer; afterwards it touches neither the
//! buffer nor the peer's memory. A driver with verbs passes the suite `rma_conformance!` ([`mod@crate::conformance`]).

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
    /// Writes `data`. Once it completes, the owner sees it.
    Put {
        /// What is written, of any length.
        data: OutShare,
        /// Where.
        to: MemoryAddress,
    },
    /// Reads as many bytes as `into` has.
    Get {
        /// From where.
        from: MemoryAddress,
        /// Where they go.
        into: InShare,
    },
    /// Changes an aligned word of 64 bits. The completion has the value before. It is one step for all verbs of the network, and for
    /// atomic instructions of the processors of the owner's host: an adapter that does not promise this has no such verb.
    FetchOp {
        /// The word.
        at: MemoryAddress,
        /// What is done.
        op: FetchOp,
        /// With what.
        operand: u64,
    },
    /// Replaces an aligned word of 64 bits if it is as expected. The completion has the value before. It is one step as
    /// [`Verb::FetchOp`] is.
    CompareSwap {
        /// The word.
        at: MemoryAddress,
        /// What it must be.
        expected: u64,
        /// What it becomes.
        desired: u64,
    },
}

impl Verb {
    /// Returns which verb it is.
    pub fn kind(&self) -> Verbs {
        match self {
            Self::Put { .. } => Verbs::PUT,
            Self::Get { .. } => Verbs::GET,
            Self::FetchOp { .. } => Verbs::FETCH_OP,
            Self::CompareSwap { .. } => Verbs::COMPARE_SWAP,
        }
    }

    /// Returns where it goes, and how many bytes it touches there.
    pub fn target(&self) -> (MemoryAddress, usize) {
        match self {
            Self::Put { data, to } => (*to, data.len()),
            Self::Get { from, into } => (*from, into.len()),
            Self::FetchOp { at, .. } | Self::CompareSwap { at, .. } => (*at, size_of::<u64>()),
        }
    }
}

/// Why a verb was not carried out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VerbError {
    /// The owner has not registered such memory, the range lies outside of it, or a word is not aligned. Nothing was touched.
    #[error("the owner has registered no such memory")]
    Refused,
    /// The link was lost or closed, or its peer is dead. Whether the verb was carried out is unknown.
    #[error("the link was lost")]
    LinkLost,
}

/// The end of a verb.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VerbCompletion {
    /// What [`Rma::post_verb`] was given.
    pub token: u64,
    /// The link it was posted on.
    pub link: LinkId,
    /// The value before, of a verb on a word; otherwise 0.
    pub result: Result<u64, VerbError>,
}

/// A rail with verbs. The defaults are those of a rail that has none ([`Caps::verbs`](crate::Caps::verbs)).
pub trait Rma: Rail {
    /// Returns whether any link may have verbs.
    #[inline]
    fn has_verbs(&self) -> bool {
        false
    }

    /// Lets peers access memory of this rank by verbs, until [`Rma::deregister`]: `place` names its first byte. The rail keeps the memory
    /// as long. Several memories with one key do not overlap; a verb that reaches over the end of one of them is refused.
    ///
    /// # Errors
    /// The system or the adapter has no room for it.
    fn register(&mut self, _place: MemoryAddress, _memory: &Exposed) -> Result<(), SegmentError> {
        Ok(())
    }

    /// Registers a region of this rank, as [`Rma::register`].
    ///
    /// # Errors
    /// As [`Rma::register`].
    fn register_region(&mut self, region: &Arc<Region>) -> Result<(), SegmentError> {
        self.register(MemoryAddress::start(region.id()), &region.exposed())
    }

    /// Ends the access to the memory that was registered at `place`: verbs that reach it later are refused.
    fn deregister(&mut self, _place: MemoryAddress) {}

    /// Posts a verb on an open link. Its completion has `token`, which is the caller's.
    ///
    /// # Errors
    /// The verb, if the link is not open, has no room for it now, or the rail has no such verb. A completion of the link makes room.
    fn post_verb(&mut self, _link: LinkId, _token: u64, verb: Verb) -> Result<(), Verb> {
        Err(verb)
    }

    /// Takes the completion of a verb. It costs no system call, and [`Rail::arm`] sees those that were not taken.
    fn take_completion(&mut self) -> Option<VerbCompletion> {
        None
    }
}
