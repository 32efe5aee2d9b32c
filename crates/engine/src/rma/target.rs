//! Serving the RMA requests of other ranks.
//!
//! Owns nothing: it shows regions, the handler and the operations of the layer above to the
//! [`RmaTarget`](canele_proto::rma::RmaTarget). That serves requests in every pass of a rank that has sockets
//! or has seen such a request.

use std::sync::Arc;

use canele_control::ControlError;
use canele_mem::buffer::{InBuffer, OutBuffer, RegionAddress};
use canele_proto::rma::{RmaMemory, RmaOperations, Tell};
use canele_rail::Set;
use canele_sys::atomic::AtomicU64;
use canele_sys::ids::{Rank, RegionId};

use super::Rma;
use crate::Error;
use crate::engine::Engine;
use crate::lane::Lane;

/// The handler of questions and deposits of ranks of other hosts, for a layer above. Any call that makes
/// progress calls it; it must not call the library.
pub trait AmHandler: Send + Sync {
    /// Answers a question. It adds the ranks that are to learn of the change, by an empty message, to `tell`.
    fn ask(&self, from: Rank, question: [u64; 3], tell: &mut Vec<Tell>) -> u64;
    /// Takes data, identified by `of`; `None` if it differs from its announcement.
    fn deposit(&self, from: Rank, of: [u64; 2], data: Option<Vec<u8>>);
}

impl Engine {
    /// Sets the handler that answers questions and takes deposits from now on.
    ///
    /// # Errors
    /// Another library of the process has set one; `Forked`.
    pub fn set_am_handler(&self, am_handler: Arc<dyn AmHandler>) -> Result<(), Error> {
        match &mut self.lock()?.rma.am_handler {
            Some(_) => Err(ControlError::JoinedAlready.into()),
            none => {
                *none = Some(am_handler);
                Ok(())
            }
        }
    }
}

impl Rma {
    /// Serves requests of other ranks, and advances the calls of this one; returns true if anything was done.
    pub fn serve(&mut self, lane: &mut Lane) -> bool {
        let Lane { proto, rails, .. } = lane;
        let (am_handler, operations) = (self.am_handler.as_deref(), self.operations.as_deref());
        let served = self.target.serve(proto, &mut OwnMemory { rails, am_handler, operations });
        served | self.origin.go_on(proto, rails)
    }

    /// Serves all requests that have come, from ranks that send no more, so that there is an end.
    pub fn serve_all(&mut self, lane: &mut Lane) {
        let may_have = lane.rails.has_networks() || lane.proto.has_rma_requests();
        while may_have && self.serve(lane) {}
    }
}

/// The memory of this rank, for the RMA requests of others.
struct OwnMemory<'a> {
    rails: &'a mut Set,
    am_handler: Option<&'a dyn AmHandler>,
    operations: Option<&'a dyn RmaOperations>,
}

impl RmaMemory for OwnMemory<'_> {
    type Rails = Set;

    fn rails(&mut self) -> &mut Set {
        self.rails
    }

    fn len_of(&mut self, region: RegionId) -> Option<usize> {
        self.rails.regions().own(region).map(|region| region.len())
    }

    fn room(&mut self, place: RegionAddress, len: usize) -> Option<InBuffer> {
        self.rails.regions().own(place.region)?.in_buffer(usize::try_from(place.offset).ok()?, len)
    }

    fn part(&mut self, place: RegionAddress, len: usize) -> Option<OutBuffer> {
        self.rails.regions().own(place.region)?.out_buffer(usize::try_from(place.offset).ok()?, len)
    }

    fn word(&mut self, place: RegionAddress) -> Option<&AtomicU64> {
        self.rails.regions().own(place.region)?.word(usize::try_from(place.offset).ok()?)
    }

    fn ask(&mut self, from: Rank, question: [u64; 3], tell: &mut Vec<Tell>) -> u64 {
        self.am_handler.map_or(u64::MAX, |am_handler| am_handler.ask(from, question, tell))
    }

    fn deposit(&mut self, from: Rank, of: [u64; 2], data: Option<Vec<u8>>) {
        if let Some(am_handler) = self.am_handler {
            am_handler.deposit(from, of, data);
        }
    }

    fn operations(&self) -> Option<&dyn RmaOperations> {
        self.operations
    }
}
