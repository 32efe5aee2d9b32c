//! Remote memory access (RMA) that the owner's library serves, where the origin cannot map the memory.
//!
//! Owns the encoding of RMA requests, their data and their answers as messages, on three flows of the
//! library; the owner's [`RmaTarget`] serves them. Never moves a message itself: order, credit, pieces,
//! several rails and lost links are those of any message.
//!
//! ```text
//!   origin ── RMA request: action, place, sequence number (small data) ──▶ owner: checks, then acts
//!          ── large data, straight into the region ──▶
//!          ◀── answer: what became of it, a value (small data with it) ──
//!          ◀── large data, straight out of the region ──
//! ```
//! The tag of an RMA request is its kind and sequence number; the tag of its data and its answer is the
//! sequence number.

mod access;
mod answer;
mod arrivals;
mod attached;
mod awaited;
mod call;
mod cutting;
mod encoding;
mod ending;
mod exposing;
mod exposures;
mod locks;
mod origin;
mod pending;
mod queue;
mod range_set;
mod refusals;
mod request;
mod route;
mod serving;
mod submitting;
mod target;
mod verbs;
mod windows;
mod work;

use canele_rail::Corrupt;
use canele_sys::ids::{FlowId, Rank, Tag};

pub use access::{Applied, ElementsOrigin, RmaOperations};
pub use answer::{Refusal, RmaAnswer};
pub(crate) use arrivals::ArrivedRequest;
pub use attached::AttachError;
pub use call::{CallEnding, LateAnswer, NewCall, RmaFailure, RmaOutcome};
pub use canele_mem::buffer::MemoryAddress;
pub use canele_sys::ids::{ExposureKey, MemoryKey};
pub use exposures::Exposures;
pub use origin::RmaOrigin;
pub use pending::PendingSends;
pub use request::{
    ElementAccess, ElementAction, EncodedElements, Form, PutReport, RmaLockKind, RmaRequest, WindowAction,
};
pub use route::{MemoryRoute, route};
pub use target::{RmaMemory, RmaTarget, Tell};
pub(crate) use verbs::PendingVerb;

use crate::matching::Want;
use crate::{Notice, Proto};

/// The flow of RMA requests.
pub const REQUESTS: FlowId = FlowId(5);
/// The flow of their large data.
pub const DATA: FlowId = FlowId(6);
/// The flow of answers, and of large data that is read.
pub const ANSWERS: FlowId = FlowId(7);

/// Bytes of an RMA request before its small data.
pub const HEAD: usize = 24;
/// The most bytes of an RMA request without its data.
pub const MOST_HEAD: usize = 48;
/// Bytes of an answer without data.
pub const ANSWER: usize = 24;
/// The most bytes of an encoded layout in an RMA request.
pub const MOST_LAYOUT: usize = canele_mem::layout::MOST_ENCODED;
/// The length of data of an access to elements that fits with any eager limit, in bytes.
pub const LEAST_PIECE: usize = 512;
/// The number of bits of a tag that hold the sequence number.
const SEQUENCE_BITS: u32 = 28;
const SEQUENCE_MASK: u32 = (1 << SEQUENCE_BITS) - 1;

impl Proto {
    /// Returns the form of the data of an RMA request.
    pub fn form(&self, rma_request: &RmaRequest) -> Form {
        rma_request.form(self.settings.eager_bytes)
    }

    /// Drops the answer to an RMA request that failed, if it has come.
    pub fn forget_answer(&mut self, from: Rank, sequence: u32) {
        self.forget(ANSWERS, from, Some(sequence));
    }

    fn forget(&mut self, flow: FlowId, from: Rank, sequence: Option<u32>) {
        let want = Want { source: Some(from), tag: sequence.map(Tag) };
        while let Some(matched) = self.probe_matched(flow, want) {
            self.discard(matched);
        }
    }

    /// Adds a notice whose data is in its place.
    fn show_notice(&mut self, from: Rank, id: u64) -> Result<(), Corrupt> {
        self.requests.count_completion();
        self.keep_notice(Notice { from, id })
    }
}
